"""Names of heads."""

from transformer_core.analysis.heads.measures import HeadName


def test_a_head_is_called_by_its_attention_layer_and_number():
    assert str(HeadName("cross", 1, 2).in_words()) == "Cross-attention L1.H2"
