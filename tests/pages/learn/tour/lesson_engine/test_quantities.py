"""The numbers of a lesson: the model's own tensors, captured here by hand, and which run and training each needs."""

import math
import re
from dataclasses import replace
from unittest.mock import Mock, call

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.tour.lesson_engine.evidence import Evidence
from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.outputs import searched
from pages.learn.tour.lesson_engine.quantity import QUANTITIES
from pages.learn.tour.lesson_engine.six_words import STEPS, smoothed_target
from pages.learn.tour.lesson_engine.value import Values
from tests.pages.learn.tour.lesson_engine.conftest import ROOT, MakeEvidence, array, load, train
from transformer_core.model.transformer import Transformer

CAT = "The cat sees the dog."
FAMOUS = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def acts() -> dict[str, np.ndarray]:
    """All sites of en-fr on the sentence, captured without the lessons."""
    model, tokenizer = load("en-fr")
    assert isinstance(model, Transformer)
    src = torch.tensor([tokenizer.encode_for(CAT, "encoder_decoder")])
    tokens = tc.greedy_decode(model, src).tokens
    with torch.inference_mode(), tc.capture(model, "*") as captured:
        logits = model(src, tokens[:, :-1])
    return {name: value[0].numpy() for name, value in captured.items()} | {"logits": logits[0].numpy()}


@pytest.mark.parametrize(
    ("source", "site", "index"),
    [
        ("pattern[cross, 1, 3]", "decoder.blocks.1.cross_attn.hook_pattern", (3,)),
        ("scores[decoder, 0, 2]", "decoder.blocks.0.self_attn.hook_attn_scores", (2,)),
        ("pattern[encoder, 1]", "encoder.blocks.1.self_attn.hook_pattern", ()),
        ("k[cross, 0, 1]", "decoder.blocks.0.cross_attn.hook_k", (1,)),
        ("z[decoder, 1, 0]", "decoder.blocks.1.self_attn.hook_z", (0,)),
        ("attn_out[cross, 1]", "decoder.blocks.1.cross_attn.hook_attn_out", ()),
        ("mask[decoder]", "decoder.blocks.0.self_attn.hook_mask", (0,)),
        ("pos_embed[encoder]", "encoder.hook_pos_embed", ()),
        ("normalized[encoder, 0, ln2]", "encoder.blocks.0.ln2.hook_normalized", ()),
        ("logits", "logits", ()),
    ],
)
def test_a_quantity_is_what_the_model_held(make_evidence: MakeEvidence, acts, source: str, site: str, index: tuple):
    np.testing.assert_array_equal(array(make_evidence("en-fr", CAT), source), acts[site][index])


def test_probabilities_and_tables(make_evidence: MakeEvidence, acts):
    evidence = make_evidence("en-fr", CAT, other="The dog sees the cat.")
    probs = torch.tensor(acts["logits"]).softmax(dim=-1).numpy()
    np.testing.assert_allclose(array(evidence, "probs"), probs, atol=1e-6)
    np.testing.assert_allclose(array(evidence, "probs_after[2]"), probs[1], atol=1e-6)
    assert evidence.ask('argmax(probs.at(writing="chat"))') == "chat"
    assert evidence.told("positions[10, 6].at(pos=4, d_model=3)", 4) == f"{math.cos(4 / 10000 ** (2 / 6)):.4f}"
    assert evidence.ask("other.output") == "Le chien voit le chat."


def test_every_quantity_can_be_asked_for(make_evidence: MakeEvidence):
    """In its right form it is there; with something else in its brackets it says what to write."""
    given = {"attention": "encoder", "stack": "decoder", "layer": "0", "head": "0", "query": "3", "key": "1", "n": "2"}
    given |= {"norm": "ln1", "width": "6", "side": "target", "beams": "2", "group": "metrics"}
    evidence = make_evidence("en-fr", CAT, other="The dog sees the cat.")
    for name, quantity in QUANTITIES.items():
        named = {"name": "exact_match" if name == "card" else "pairs"}
        parts = ", ".join((given | named)[part] for part in re.findall(r"\w+", quantity.parts))
        evidence.ask(f"{name}[{parts}]" if parts else name)
        with pytest.raises(ExpressionError):
            evidence.ask(f"{name}[1, 1, 1, 1, 1, 1]")


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("pattern[cross, 7, 0]", "no layer “7”, only 0 to 1"),
        ("pattern[cross, 0, 9]", "no head 9, only 0 to 3"),
        ("pattern[middle, 0, 0]", "no attention “middle”"),
        ("embed[middle]", "no stack “middle”"),
        ("normalized[encoder, 0, ln9]", "no site"),
        ("nothing", "no quantity “nothing”"),
        ("positions[10, 7]", "even width"),
        ("trained[2]", "smoothing"),
        ("output_without[encoder, 0, 9]", "no head “9”, only 0 to 3"),
        ("probs_looking[encoder, 7, 0, 1, 2]", "no layer “7”, only 0 to 1"),
        ("output_looking[encoder, 0, 0, cat, mouse]", "there is no key “mouse”"),
        ("output_patched[encoder, 1, 0]", "same number of tokens"),
        ("card[metrics, charm]", "no number “charm” in “metrics”"),
        ("loss_rise[decoder, 0, 9]", "no head “9”, only 0 to 3"),
        ("loss_rise[decoder, all, 0]", "no layer “all”, only 0 to 1"),
        *((f"probs_after[{n}]", "1 to 7 tokens") for n in ("0", "8", "voit")),
    ],
)
def test_what_the_model_has_not_is_said(make_evidence: MakeEvidence, source: str, part: str):
    with pytest.raises(ExpressionError, match=part):
        make_evidence("en-fr", CAT, other=FAMOUS).ask(source)


@torch.inference_mode()
def test_a_head_is_ablated_made_to_look_at_a_key_and_patched_from_the_other_text(make_evidence: MakeEvidence):
    """The oracle writes into z: 0, the value of the key, or what it was on the other text."""
    model, tokenizer = load("en-fr")
    evidence = make_evidence("en-fr", FAMOUS, other=FAMOUS.replace("tired", "wide"))
    here, there = (torch.tensor([list(run.model_run.inputs[0])]) for run in (evidence.run, evidence.run_of("other")))
    tgt = torch.tensor([tokenizer.encode(str(evidence.ask("output")), bos=True)])
    site = "encoder.blocks.1.self_attn"
    with tc.capture(model, f"{site}.hook_*") as own:
        model(here, tgt)
    with tc.capture(model, f"{site}.hook_*") as other:
        model(there, tgt)
    v, z = own[f"{site}.hook_v"], other[f"{site}.hook_z"]
    it, street = slice(7, 8), slice(5, 6)
    cases = {
        "probs_without[encoder, 1, 0]": (slice(None), torch.zeros_like(z[0, 0])),
        "probs_looking[encoder, 1, 0, it, street]": (it, v[0, 0, street]),
        "probs_looking[encoder, 1, 0, 7, 5]": (it, v[0, 0, street]),
        "probs_patched[encoder, 1, 0]": (slice(None), z[0, 0]),
        "probs_patched[encoder, 1, 0, it]": (it, z[0, 0, it]),
    }
    for source, (places, values) in cases.items():

        def put(z: torch.Tensor, _: object, places: slice = places, values: torch.Tensor = values) -> torch.Tensor:
            z = z.clone()
            z[:, 0, places] = values
            return z

        with tc.intervene(model, {f"{site}.hook_z": put}):
            expected = model(here, tgt).softmax(dim=-1)[0].numpy()
            written = tokenizer.decode(tc.greedy_decode(model, here).tokens[0].tolist())
        np.testing.assert_allclose(array(evidence, source), expected, atol=1e-5)
        assert evidence.ask(source.replace("probs", "output")) == written or "patched" in source
    assert "qu'elle était trop fatiguée" in evidence.told("output_patched[encoder, 1, 0, it]")


def test_the_loss_on_a_text_is_that_of_its_tokens(make_evidence: MakeEvidence):
    """The loss that the reading measured is the oracle; a mistake changes it."""
    evidence = make_evidence("en-fr", CAT, mistake="mask_on_cross")
    measured = -float(evidence.run_of("right").model_run.log_probs.mean())
    assert float(evidence.told("right.text_loss", 6)) == pytest.approx(measured, abs=1e-5)
    assert float(evidence.told("text_loss", 6)) > measured + 0.1


def test_the_loss_rises_as_where_the_heads_output_weights_are_zero(make_evidence: MakeEvidence):
    """The oracle is a copy of the model in which nothing of these heads reaches the residual stream."""
    evidence = make_evidence("induction", "moon basket river owl candle fern moon basket river")
    ids = torch.tensor(evidence.run.model_run.inputs)
    following = torch.tensor([*evidence.run.model_run.inputs[0][1:], int(evidence.run.logits[-1].argmax())])
    following[following == evidence.run.model.config.eos_id] = -100  # not counted, nor named in the figure

    def loss(*heads: int) -> float:
        model, _ = tc.load(ROOT / "checkpoints" / "induction")
        weight = model.get_parameter("decoder.blocks.1.self_attn.out.weight")
        with torch.no_grad():
            for head in heads:
                weight.unflatten(-1, (model.config.n_heads, -1))[:, head] = 0
            return float(torch.nn.functional.cross_entropy(model(ids)[0], following))

    rise = float(array(evidence, "loss_rise[decoder, 1, 1, 2, 3]"))
    assert rise == pytest.approx(loss(1, 2, 3) - loss(), abs=1e-4)


OF_ONE_RUN = (
    *(f"loss_rise[{head}]" for head in ("encoder, 1, 0", "decoder, 1, 0", "decoder, 0, 0", "decoder, 0, 0, 1")),
    *(f"{what}_without[{head}]" for what in ("output", "probs") for head in ("encoder, 1, 0", "cross, 1, 0")),
    *(f"probs_looking[encoder, 1, 0, {places}]" for places in ("4, 5", "4, 1", "5, 1")),
    *(f"beam_text[1, {n}]" for n in (1, 2)),
)


def test_what_was_computed_before_is_not_told_of_anything_else(make_evidence: MakeEvidence):
    """Asked one after the other, each comes to what a run says that was requested nothing before."""
    run = make_evidence("en-fr", CAT).run
    for source in OF_ONE_RUN:
        shared, alone = (
            Evidence(make_run=lambda *_, of=of: of, train=train).ask(source) for of in (run, replace(run, computed={}))
        )
        one, other = [actual.array if isinstance(actual, Values) else actual for actual in (shared, alone)]
        np.testing.assert_array_equal(one, other, err_msg=source)
    assert [len(searched(run, n_beams, 1).levels[0]) for n_beams in (1, 3)] == [2, 6]


def test_flips_of_pronouns_are_a_matrix_a_row_or_a_number(make_evidence: MakeEvidence):
    evidence = make_evidence("en-fr", FAMOUS)
    matrix, row, one = (evidence.ask(f"flips[encoder{rest}]") for rest in ("", ", 1", ", 1, 0"))
    assert isinstance(matrix, Values) and isinstance(row, Values) and isinstance(one, Values)
    assert [axis.name for axis in matrix.axes] == ["layer", "head"] and matrix.array.shape == (2, 4)
    np.testing.assert_array_equal(matrix.array[1], row.array)
    assert one.number == matrix.array[1, 0] > 0.9
    for source, words in (("flips[middle]", "no attention"), ("flips[cross, 5]", "5"), ("pronouns[all]", "only pairs")):
        with pytest.raises(ExpressionError, match=words):
            evidence.ask(source)


def test_the_probabilities_after_so_many_tokens_are_those_of_a_model_that_read_no_more(make_evidence: MakeEvidence):
    model, tokenizer = load("en-fr")
    src = torch.tensor([tokenizer.encode_for(CAT, "encoder_decoder")])
    for n in (1, 7):
        with torch.inference_mode():
            tokens = tc.greedy_decode(model, src).tokens[:, :n]
            by_hand = model(src, tokens)[0, -1].softmax(dim=-1)
        actual = make_evidence("en-fr", CAT).ask(f"probs_after[{n}]")
        assert isinstance(actual, Values)
        np.testing.assert_allclose(actual.array, by_hand.numpy(), atol=1e-6)
        assert actual.axes[0].name == "vocab" and len(actual.axes[0].labels) == model.config.vocab_size
    with pytest.raises(ExpressionError, match="does not generate"):
        make_evidence("fill-in", CAT).ask("probs_after[1]")


@pytest.mark.parametrize(
    ("mistake", "of_run", "is_shifted_here"),
    [("", "", True), ("axes_swapped", "axes_swapped", True), ("targets_not_shifted", "", False)],
)
def test_a_mistake_is_in_the_run_or_in_the_training_where_it_lies(
    make_evidence: MakeEvidence, mistake: str, of_run: str, is_shifted_here: bool
):
    make_run = Mock(return_value=make_evidence("en-fr", "The cat sees the dog.").run)
    make_words = Mock(return_value=train(0.0, True, 0))
    evidence = Evidence(make_run=make_run, train=make_words, mistake=mistake)
    for which in ("", "right", "other"):
        evidence.run_of(which)
    assert make_run.call_args_list == [call(of_run, False), call("", False), call(of_run, True)]
    for source in ("untrained", "trained[0.2]", "loss", "right.loss"):
        evidence.ask(source)
    settings = [(0.0, is_shifted_here, 0), (0.2, is_shifted_here, STEPS), (0.0, is_shifted_here, STEPS)]
    assert [one.args for one in make_words.call_args_list] == [*settings, (0.0, True, STEPS)]


def test_targets_are_one_hot_and_smoothed():
    np.testing.assert_array_equal(smoothed_target(2), [0, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(smoothed_target(0, 4, smoothing=0.2), [0.85, 0.05, 0.05, 0.05])


@pytest.mark.training
def test_smoothing_leaves_the_entropy_of_the_target():
    result = train(0.1, True, STEPS)
    right = 0.9 + 0.1 / 6
    entropy = -right * math.log(right) - 5 * (0.1 / 6) * math.log(0.1 / 6)
    assert result.losses[-1] == pytest.approx(entropy, abs=0.01)
    np.testing.assert_allclose(result.trained, result.target, atol=0.02)
