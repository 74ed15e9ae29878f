"""Source runs: which position of another text stands for which, and that each text runs once."""

import gc
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from weakref import ref

import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.base import compare_with_source, read_base
from headlight.analysis.interventions.records import Ablation, Component
from headlight.analysis.interventions.source_runs import (
    SourceRuns,
    pair_positions,
    stepwise_attention,
    usual_other_text,
)
from headlight.analysis.trace.model_run import run_text
from headlight.analysis.trace.traced_forward import FixedText
from pages.shared.cache import size_of
from tests.headlight.analysis.conftest import Made
from tests.headlight.analysis.interventions.small_models import base_of, model_of, tensors_of, text_of
from transformer_core.errors import InterventionError
from transformer_core.text.labels import with_border


def run_of(given: str, written: str = "") -> FixedText:
    """A decoder's run with a letter for each token."""
    text: dict[str, Any] = {"inputs": (), "output": "", "judged": (), "expected": (), "left_out": range(0)}
    return FixedText(architecture="decoder_only", source=(), target=(*given, *written), n_given=len(given), **text)


def test_texts_of_the_same_length_are_paired_by_position():
    pairing = pair_positions(run_of("abc", "de"), run_of("bca", "xy"), "target")
    assert pairing == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}


def test_texts_of_other_lengths_are_paired_by_their_tokens():
    pairing = pair_positions(run_of("the cat", "sat"), run_of("the red cat", "sat"), "target")
    assert pairing == {**{i: i for i in range(4)}, **{i: i + 4 for i in range(4, 10)}}
    assert pair_positions(run_of("axyb", "de"), run_of("ab", "dfge"), "target") == {0: 0, 3: 1, 4: 2, 5: 5}


def test_of_two_pairs_first_texts_are_paired_and_second_ones_whatever_marks_their_border():
    def pair(first: str, second: str) -> FixedText:
        return replace(run_of(""), source=with_border(first + second, len(first)), border=len(first))

    assert pair_positions(pair("abc", "dbe"), pair("ab", "xdb"), "source") == {0: 0, 1: 1, 3: 2, 4: 3, 5: 4}


def test_what_was_written_is_never_paired_with_what_was_given():
    assert pair_positions(run_of("ab", "cd"), run_of("abcd"), "target") == {0: 0, 1: 1}


def test_a_source_run_is_the_models_own_or_goes_on_as_this_one_does(make: Callable[..., Made]):
    for architecture in ("decoder_only", "encoder_decoder"):
        model, tokenizer = make(architecture)
        here = run_text(model, tokenizer, "The cat sees the dog.", max_new_tokens=4, max_tokens=16)
        sources = SourceRuns(tokenizer, max_new_tokens=4, max_tokens=16)
        text = "The dog sees the cat."
        own = sources.run(model, text)
        assert own.inputs == run_text(model, tokenizer, text, max_new_tokens=4, max_tokens=16).inputs
        same = sources.run(model, text, "same", here=here)
        ids = tokenizer.encode_for(text, architecture)
        if architecture == "encoder_decoder":
            assert same.inputs == (tuple(ids), here.inputs[1]) and same.n_given == own.n_given == 1
        else:
            assert same.inputs == ((*ids, *here.inputs[0][here.n_given :]),) and same.n_given == len(ids)
        assert tuple(map(len, same.inputs)) == tuple(len(side) for side in (same.source, same.target) if side)
        assert sources.run(model, text) is own and sources.run(model, text, "same", here=here) is same
        other = replace(here, inputs=(*here.inputs[:-1], (*here.inputs[-1][:-1], 5)))
        assert sources.run(model, text, "same", here=other).inputs[-1] == (*same.inputs[-1][:-1], 5) != same.inputs[-1]
        with pytest.raises(InterventionError, match="needs the run that it is patched into"):
            sources.run(model, text, "same")


def test_activations_are_those_of_a_forward_pass_and_are_kept():
    model, _ = model_of("decoder")
    sources = base_of("decoder").sources
    run, site = sources.run(model, text_of(7)), "decoder.blocks.1.hook_resid_post"
    with torch.no_grad(), stepwise_attention(model), tc.capture(model, site) as acts:
        model(*tensors_of(base_of("decoder")))
    with tc.capture(model, site) as again:
        taken = sources.activations(model, run, [site])[site]
        assert torch.equal(taken, acts[site])
        n_forwards = len(again)
        assert sources.activations(model, run, [site])[site] is taken and len(again) == n_forwards
        model(*tensors_of(base_of("decoder")))


def test_a_base_and_its_source_runs_do_not_keep_the_model_in_memory(make: Callable[..., Made]):
    model, tokenizer = make("decoder_only")
    base = read_base(model, tokenizer, "The cat sees the dog.", max_new_tokens=4, max_tokens=16)
    before = size_of(base)
    compare_with_source(model, tokenizer, base, "The dog sees the cat.")
    assert size_of(base) > before  # its source runs count
    known = ref(model)
    del model
    gc.collect()
    assert known() is None


def test_the_usual_other_text_has_the_most_counterparts_or_is_the_text_reversed():
    for text, others, expected in (
        ("5 6 7 8", ["5 6 7 8", "5 6", "9 9 9 9", "5 6 9 9"], "5 6 9 9"),  # as long, and most tokens are the same
        ("5 6 7 8", ["9 9", "10 5 6 7 11"], "10 5 6 7 11"),
        ("5 6 7 8", ["9 10", "11 9 10 11 12 13"], "8 7 6 5"),  # nothing has a counterpart in them
        ("5 6 7 8", [], "8 7 6 5"),
        ("5", ["9 10"], "9 10"),
    ):
        assert usual_other_text(model_of("decoder")[1], "decoder_only", text, others) == expected


@pytest.mark.parametrize("text", ["5 6 7 " * 500, "5" * 3000, "\n" * 3000, "    ", "\n", "55 66 77 " * 500])
@pytest.mark.parametrize("others", [(), ("",), ("9",), ("9 " * 1500,)])
def test_values_can_be_taken_from_it_whatever_the_text_is(text: str, others: tuple[str, ...]):
    def labels_for(text: str, _: str) -> list[str]:
        return text.split()

    tokenizer: Any = SimpleNamespace(labels_for=labels_for)
    other = usual_other_text(tokenizer, "decoder_only", text, others)
    assert Ablation(component=Component(kind="head", attention="decoder", layer=0), texts=(other,)).texts == (other,)
    assert set(other.split()) <= {*text.split(), "9"} or " " not in text  # whole words
