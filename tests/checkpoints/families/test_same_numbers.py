"""Every family gives the numbers of `transformers` from the same files: logits, states, patterns, tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.foreign import SMALL
from transformer_core.checkpoints.families import FAMILIES
from transformer_core.errors import CheckpointError

CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 3e-5}  # float32, at up to 80 tokens


@dataclass(frozen=True)
class Pair:
    """The library's model and ours, and what both say of one padded batch."""

    theirs: Any
    ours: tc.Transformer
    tokens: tuple[Tensor, ...]
    expected: Any  # the library's output
    logits: Tensor  # ours, watched; of a model without a last layer its final states
    acts: Mapping[str, Tensor]
    final_scale: float

    def real(self, stack: str) -> Tensor:
        """Where a stack's tokens are no padding [batch, pos]."""
        return foreign.is_real(self.tokens[0 if stack == self.stacks[0] else 1])

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks of the model, in the order of the forward pass."""
        return ("encoder", "decoder") if len(self.tokens) == 2 else ("encoder",) if self.ours.encoder else ("decoder",)

    def output(self, stack: str, kind: str) -> tuple[Tensor, ...]:
        """The library's hidden_states or attentions of a stack, one a layer."""
        name = kind if len(self.tokens) == 1 or kind.startswith("cross") else f"{stack}_{kind}"
        return getattr(self.expected, name)


def run(model: tc.Transformer) -> Callable[..., Tensor]:
    """What gives the most that a model computes: logits, or final states where it has no last layer."""
    return model if model.config.unembed else model.final_states


@pytest.fixture(scope="session")
def pair_of(folder_of: Callable[[str], Path]) -> Callable[[str], Pair]:
    @cache
    def made(name: str) -> Pair:
        theirs, ours = foreign.theirs(name, folder_of(name)), foreign.ours(folder_of(name))
        tokens = foreign.batch(name)
        inputs = {"input_ids": tokens[0], "attention_mask": foreign.is_real(tokens[0]).long()}
        if len(tokens) == 2:
            inputs |= {"decoder_input_ids": tokens[1], "decoder_attention_mask": foreign.is_real(tokens[1]).long()}
        with torch.inference_mode():
            expected = theirs(**inputs, output_hidden_states=True, output_attentions=True)
            with tc.capture(ours, "*") as acts:
                logits = run(ours)(*tokens)
        return Pair(theirs, ours, tokens, expected, logits, acts, SMALL[name].final_scale)

    return made


@pytest.mark.parametrize("name", SMALL)
def test_logits_states_and_patterns_are_the_same(name: str, pair_of: Callable[[str], Pair]):
    """Hooked and without hooks."""
    pair = pair_of(name)
    real = pair.real(pair.stacks[-1])
    if not pair.ours.config.unembed:
        expected = pair.expected.hidden_states[-1][real] / pair.final_scale
    else:
        expected = (pair.expected.logits if "logits" in pair.expected else pair.expected.prediction_logits)[real]
    assert expected.std() > 0.1
    torch.testing.assert_close(pair.logits[real], expected, **CLOSE)
    with torch.inference_mode():
        torch.testing.assert_close(run(pair.ours)(*pair.tokens)[real], expected, **CLOSE)
    for stack in pair.stacks:
        compare_states(pair, stack)
    n_patterns = sum(compare_patterns(pair, stack) for stack in pair.stacks)
    assert n_patterns == sum(site.endswith("hook_pattern") for site in pair.acts)


def compare_states(pair: Pair, stack: str) -> None:
    expected, real = pair.output(stack, "hidden_states"), pair.real(stack)
    n_layers = len(getattr(pair.ours, stack).blocks)
    assert len(expected) == n_layers + 1
    last = f"{stack}.ln_final" if pair.ours.config.norm_position == "pre" else f"{stack}.blocks.{n_layers - 1}.ln2"
    sites = [*(f"{stack}.blocks.{i}.hook_resid_pre" for i in range(n_layers)), f"{last}.hook_normalized"]
    expected = (*expected[:-1], expected[-1] / pair.final_scale)
    for site, states in zip(sites, expected, strict=True):
        if states.shape == pair.acts[site].shape:  # OPT-350m projects the last ones
            torch.testing.assert_close(pair.acts[site][real], states[real], **CLOSE)


def compare_patterns(pair: Pair, stack: str) -> int:
    """Return how many there are."""
    kinds = {"self_attn": "attentions"} | ({"cross_attn": "cross_attentions"} if stack != pair.stacks[0] else {})
    for part, kind in kinds.items():
        expected = pair.output(stack, kind)
        assert len(expected) == len(getattr(pair.ours, stack).blocks)
        for i, pattern in enumerate(expected):
            ours, real = pair.acts[f"{stack}.blocks.{i}.{part}.hook_pattern"], pair.real(stack)
            assert ours.shape == pattern.shape
            ours, pattern = (p.transpose(1, 2)[real] for p in (ours, pattern))  # [real query, head, key]
            torch.testing.assert_close(ours, pattern, **CLOSE)
            n_keys = (pattern > 0).sum(dim=-1, keepdim=True)
            assert (pattern * n_keys)[pattern > 0].std() > 0.1  # not uniform, else anything would be close
    return len(kinds) * len(expected)


@pytest.mark.parametrize("name", [name for name in foreign.LIBRARY if name != "encoder-decoder"])  # two BERTs
def test_an_option_that_is_left_out_means_what_it_means_there(name: str):
    """In config.json of a model of other sizes than the usual ones, else defaults could not be told from them."""
    family, theirs = FAMILIES[name], getattr(foreign.library(), SMALL[name].config_class)
    usual = theirs().to_dict()

    def must_be_there(option: str) -> bool:
        try:
            return not family.config(without(usual, option))
        except CheckpointError as error:
            assert f"lacks {option}," in str(error)
            return True

    sizes = {option for option in usual if must_be_there(option)}
    other = sizes - {"vocab_size"} | ({"decoder_ffn_dim", "decoder_attention_heads"} & usual.keys())
    values = theirs(**{option: 2 * usual[option] for option in other}).to_dict()
    expected = family.config(values)
    files = {option: without(values, option) for option in values.keys() - sizes - other}
    rotary = values.get("rope_parameters") or {}
    files |= {f"rope {part}": {**values, "rope_parameters": without(rotary, part)} for part in rotary}
    for option, file in files.items():
        actual = family.config(file)
        if actual.architecture == "encoder_only":  # which reads neither
            actual = replace(actual, bos_id=expected.bos_id, eos_id=expected.eos_id)
        assert actual == expected, option


@pytest.mark.parametrize("name", [name for name in foreign.LIBRARY if SMALL[name].stacks == ("decoder",)])
def test_padding_that_also_begins_or_ends_a_text_is_no_padding(name: str):
    """A real token after it would be hidden."""
    family, theirs = FAMILIES[name], getattr(foreign.library(), SMALL[name].config_class)
    values = theirs(**{**SMALL[name].values, "bos_token_id": 5, "eos_token_id": 7}).to_dict()
    for pad, expected in {5: None, 7: None, -1: None, None: None, 3: 3}.items():
        config = family.config({**values, "pad_token_id": pad})
        assert (config.pad_id, config.bos_id, config.eos_id) == (expected, 5, 7), pad


def without(values: Mapping[str, Any], left_out: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != left_out}


@pytest.mark.parametrize("name", foreign.DECODERS)
def test_greedy_decoding_writes_the_same_tokens(name: str, pair_of: Callable[[str], Pair]):
    """In one padded batch, where neither writes padding; prompts the library wants padded on the left."""
    pair = pair_of(name)
    tokens = pair.tokens[0]
    is_prompt = len(pair.stacks) == 1
    inputs = torch.stack([row.roll(len(row) - n) for row, n in zip(tokens, foreign.LENGTHS, strict=True)])
    inputs = inputs if is_prompt else tokens
    expected = pair.theirs.generate(
        inputs,
        attention_mask=(inputs != foreign.PAD).long(),
        max_new_tokens=foreign.N_NEW,
        do_sample=False,
        num_beams=1,
        decoder_start_token_id=None if is_prompt else pair.ours.config.bos_id,
        pad_token_id=foreign.PAD,
        eos_token_id=foreign.EOS,
        bad_words_ids=[[foreign.PAD]],
    )
    written = tc.greedy_decode(pair.ours, tokens, max_new_tokens=foreign.N_NEW).tokens
    assert without_padding(written) == without_padding(expected)
    assert max(map(len, without_padding(written))) >= foreign.N_NEW  # something was written


def without_padding(tokens: Tensor) -> list[list[int]]:
    return [row[row != foreign.PAD].tolist() for row in tokens]
