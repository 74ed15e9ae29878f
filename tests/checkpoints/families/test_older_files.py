"""Files as they were published: other keys for the same weights, and tensors that are computed here."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.checkpoints import foreign
from tests.checkpoints.small import MAX_POSITIONS
from transformer_core.checkpoints.convert import convert, with_model_type
from transformer_core.errors import CheckpointError
from transformer_core.model.positions import sinusoidal_table

FolderOf = Callable[[str], Path]
Weights = dict[str, Tensor]
STORED = "model.decoder.embed_positions.weight"


def gpt2(weights: Weights) -> Weights:
    """Without a prefix, and with the masks."""
    bare = {key.removeprefix("transformer."): weight for key, weight in weights.items()}
    bare |= {f"h.{i}.attn.bias": torch.ones(1, 1, 24, 24).tril() for i in range(3)}
    return bare | {f"h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(3)}


def bert(weights: Weights) -> Weights:
    """With gamma and beta in norms, positions, and other heads."""
    older = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): weight
        for key, weight in weights.items()
    }
    return older | {
        "bert.embeddings.position_ids": torch.arange(24)[None],
        "bert.pooler.dense.weight": torch.ones(36, 36),
        "bert.pooler.dense.bias": torch.ones(36),
        "cls.seq_relationship.weight": torch.ones(2, 36),
        "cls.seq_relationship.bias": torch.ones(2),
        "cls.predictions.decoder.weight": weights["bert.embeddings.word_embeddings.weight"],
    }


def llama(weights: Weights) -> Weights:
    """With the speed of each pair."""
    return weights | {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(6) for i in range(3)}


def t5(weights: Weights) -> Weights:
    """With a bias that nothing reads."""
    return weights | {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": torch.ones(8, 3)}


def gpt_neo(weights: Weights) -> Weights:
    """Without a prefix, and with the mask of each layer."""
    bare = {key.removeprefix("transformer."): weight for key, weight in weights.items()}
    causal = torch.ones(1, 1, 24, 24, dtype=torch.uint8).tril()
    masks = (causal, causal.triu(-3), causal.triu(-3))  # two layers have a window of 4
    return bare | {f"h.{i}.attn.attention.bias": mask for i, mask in enumerate(masks)}


@pytest.mark.parametrize("older", [gpt2, bert, llama, t5, gpt_neo])
def test_they_give_the_same_numbers(older: Callable[[Weights], Weights], folder_of: FolderOf):
    name = older.__name__
    values, weights = foreign.read(folder_of(name))
    tokens = foreign.batch(name)
    expected = convert(values, weights, where=name)(*tokens)
    assert torch.equal(convert(values, older(weights), where=name)(*tokens), expected)


@pytest.mark.parametrize(
    ("name", "by_weights"),
    [("gpt2", True), ("bert", True), ("marian", True), ("gemma3_text", True), ("xlm-roberta", False), ("llama", False)],
)
def test_a_config_json_without_model_type(name: str, by_weights: bool, folder_of: FolderOf):
    """Its classes name the family; otherwise its options and weights do, unless several families fit."""
    values, weights = foreign.read(folder_of(name))
    untyped = {option: value for option, value in values.items() if option != "model_type"}
    assert with_model_type(untyped, {}, where=name) == values
    del untyped["architectures"]
    assert with_model_type(untyped, weights, where=name).get("model_type") == (name if by_weights else None)


def test_weights_of_bert_that_contradict_are_refused(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("bert"))
    bias, ids = "cls.predictions.decoder.bias", "bert.embeddings.position_ids"
    both = {**weights, bias: weights["cls.predictions.bias"].clone()}
    assert convert(values, both, where="bert").config.unembed_bias
    half = {key: weight for key, weight in weights.items() if "predictions.transform" not in key}
    for given, message in (
        ({**both, bias: both[bias] + 1}, rf"'{bias}' must equal 'cls\.predictions"),
        (half, r"lacks the weight 'cls\.predictions\.transform\.dense\.weight'"),
        ({**weights, ids: torch.arange(24)[None] + 2}, f"'{ids}' has unexpected values"),
    ):
        with pytest.raises(CheckpointError, match=message):
            convert(values, given, where="somewhere")


def test_segments_of_bert_are_the_librarys(folder_of: FolderOf):
    folder, (tokens,) = folder_of("bert"), foreign.batch("bert")
    segments = torch.randint(0, 3, tokens.shape, generator=torch.Generator().manual_seed(3))
    real = foreign.is_real(tokens)
    with torch.inference_mode():
        theirs = foreign.theirs("bert", folder)(tokens, (tokens != foreign.PAD).long(), token_type_ids=segments)
        logits = foreign.ours(folder)(tokens, segments=segments)
    torch.testing.assert_close(logits[real], theirs.logits[real], rtol=1e-5, atol=1e-5)


def test_stored_positions_of_marian_are_accepted_if_they_are_the_computed_ones(folder_of: FolderOf):
    values, weights = foreign.read(folder_of("marian"))
    theirs = foreign.theirs("marian", folder_of("marian")).model.decoder.embed_positions.weight.detach()
    assert theirs.shape == (MAX_POSITIONS, 36)
    for dtype in (torch.float32, torch.bfloat16):
        convert(values, {**weights, STORED: theirs.to(dtype)}, where="marian")
    for table in (sinusoidal_table(MAX_POSITIONS, 36, "interleaved"), torch.zeros(24)):
        with pytest.raises(CheckpointError, match=f"'{STORED}' has unexpected values .sinusoidal positions"):
            convert(values, {**weights, STORED: table}, where="somewhere")


def test_a_head_of_its_own_of_t5_counts_whatever_config_json_says(folder_of: FolderOf):
    """The library writes tie_word_embeddings = true when it saves such a model again."""
    values, weights = foreign.read(folder_of("t5-v1.1"))
    assert values["tie_word_embeddings"] is True
    assert convert(values, weights, where="t5").config.tie_embeddings == "none"
    without = {key: weight for key, weight in weights.items() if key != "lm_head.weight"}
    assert convert(values, without, where="t5").config.tie_embeddings == "three_way"


def test_an_encoder_of_t5_alone_is_that_of_the_whole(folder_of: FolderOf):
    """Its config.json may still describe both stacks."""
    values, weights = foreign.read(folder_of("t5"))
    alone = {key: weight for key, weight in weights.items() if not key.startswith("decoder")}
    encoder = convert({**values, "architectures": ["T5EncoderModel"]}, alone, where="somewhere")
    tokens = foreign.batch("t5")[0]
    assert encoder.config.architecture == "encoder_only" and not encoder.config.unembed
    assert torch.equal(encoder.final_states(tokens), convert(values, weights, where="somewhere").encode(tokens))
