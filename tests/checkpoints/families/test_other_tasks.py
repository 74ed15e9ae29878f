"""Models of other tasks: classifiers, question answering and models without a head, in every family.

They open with their attention, and make no predictions.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.foreign import SMALL
from transformer_core.checkpoints.convert import convert
from transformer_core.errors import ConfigError, Message

TASKS = (
    *("MODEL", "MODEL_FOR_SEQUENCE_CLASSIFICATION", "MODEL_FOR_TOKEN_CLASSIFICATION"),
    *("MODEL_FOR_QUESTION_ANSWERING", "MODEL_FOR_MULTIPLE_CHOICE"),
)


def classes_of(name: str) -> Iterator[str]:
    """The library's classes of a family for other tasks."""
    import transformers.models.auto.modeling_auto as auto

    for task in TASKS:
        if there := getattr(auto, f"{task}_MAPPING_NAMES").get(name):
            yield there if isinstance(there, str) else there[0]


CASES = [(name, task) for name in foreign.LIBRARY if name != "encoder-decoder" for task in classes_of(name)]
CASES += [("opt-350m", "OPTForSequenceClassification"), ("opt-350m-own-head", "OPTModel")]  # narrow embeddings


def small(name: str, model_class: str) -> Any:
    """A model of a class, with every weight random, and attention written out."""
    config = getattr(foreign.library(), SMALL[name].config_class)(**SMALL[name].values)
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = getattr(foreign.library(), model_class)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape) * 0.2)
    return model


@pytest.mark.parametrize(("name", "model_class"), CASES)
def test_it_opens_with_its_attention(name: str, model_class: str):
    theirs, notes = small(name, model_class), list[Message]()
    ours = convert(theirs.config.to_dict(), theirs.state_dict(), where=model_class, on_note=notes.append)
    is_pair, is_bare = ours.config.architecture == "encoder_decoder", model_class.endswith("Model")
    tokens = (torch.arange(3, 12)[None], *([torch.arange(10, 17)[None]] if is_pair else []))
    inputs = dict(zip(("input_ids", "decoder_input_ids"), tokens, strict=False))
    body = getattr(theirs, theirs.base_model_prefix, theirs)
    with torch.inference_mode():
        expected = body(**inputs, output_attentions=True, output_hidden_states=True)
        with tc.capture(ours, "*hook_pattern") as acts:
            states = ours.final_states(*tokens)
    last = expected.decoder_hidden_states if is_pair else expected.hidden_states
    if not ours.config.unembed:  # a factor of the logits may be part of the last gain
        narrow = getattr(getattr(body, "decoder", None), "project_out", None)
        states = states if narrow is None else states @ narrow.weight.detach().T
        torch.testing.assert_close(states, last[-1], rtol=1e-5, atol=1e-5)
    kinds = ("encoder_attentions", "decoder_attentions", "cross_attentions") if is_pair else ("attentions",)
    patterns = [pattern for kind in kinds for pattern in getattr(expected, kind)]
    actual = sorted(acts, key=lambda site: ("cross" in site, "decoder" in site, int(site.split(".")[2])))
    assert len(actual) == len(patterns)
    for site, pattern in zip(actual, patterns, strict=True):
        torch.testing.assert_close(acts[site], pattern, rtol=1e-5, atol=1e-5)
    if ours.config.unembed:  # its output layer is tied
        assert is_bare and ours.config.has_decoder and ours.config.tie_embeddings != "none"
        return
    assert any("no language-modeling head" in str(note) for note in notes)
    assert is_bare or any("head is not used" in str(note) for note in notes)
    with pytest.raises(ConfigError, match="makes no predictions"):
        ours(*tokens)
