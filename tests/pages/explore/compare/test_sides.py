"""The two sides of the Compare page, without a model that runs: what is chosen, and what replaces what is not there."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.interventions.records import CellEdit, InterventionStack
from headlight.analysis.interventions.stacks import from_json, to_json
from pages.explore.compare import sides, view_fields
from pages.explore.compare.ablation import ablation
from pages.explore.compare.sides import Side, SideWeights, can_be_forced, teacher_forced
from pages.explore.compare.view_fields import CHANGE_B
from pages.shared.recipe import literal
from pages.shared.sources import Source
from tests.pages.train.small_films import save_run
from transformer_core.config import Architecture, ModelConfig

OFF, EVEN = ablation("zero", [("cross", 0, 0)]), ablation("uniform", [("cross", 1, 0)])
KNOCKED_OUT = InterventionStack(entries=(CellEdit(attention="cross", layer=0, operation="knock_out", cells=((1, 0),)),))


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def weights(
    name: str = "one", architecture: Architecture = "encoder_decoder", corpus: str = "pairs", **more: Any
) -> SideWeights:
    """A model of 1 encoder layer and 3 decoder layers with 4 heads, which share 2 heads of keys and values."""
    config = ModelConfig(
        vocab_size=9,
        architecture=architecture,
        d_model=8,
        d_ff=8,
        n_heads=4,
        n_kv_heads=2,
        n_encoder_layers=0 if architecture == "decoder_only" else 1,
        n_decoder_layers=0 if architecture == "encoder_only" else 3,
        tie_embeddings="target",
    )
    kept: dict[str, Any] = {"source": Source(f"models/{name}", "1"), "examples": ()}
    return SideWeights(name=name, config=config, corpus=corpus, **kept | more)


def side(letter: str = "A", of: SideWeights | None = None, **more: Any) -> Side:
    kept: dict[str, Any] = {
        "change": InterventionStack(),
        "text": "a b",
        "target": None,
        "head": HeadName("cross", 2, 1),
    }
    return Side(letter=letter, weights=of or weights(), **kept | more)


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (("cross", 2, 3), ("cross", 2, 3)),  # the last that there is
        (("decoder", 0, 4), ("decoder", 0, 3)),
        (("elsewhere", 1, 2), ("cross", 1, 2)),
    ],
)
def test_a_head_that_is_not_there_gives_way_to_the_nearest(wanted: tuple[str, int, int], shown: tuple[str, int, int]):
    notes: list[str] = []
    assert sides._fitted(side("B", head=HeadName(*wanted)), notes).head == shown
    assert [note.startswith("B (one) has no head ") for note in notes] == [True] * (wanted != shown)


@pytest.mark.parametrize(
    ("change", "left", "note"),
    [
        ("", "", None),
        ("even:cross.2.3+encoder.0.0", "even:cross.2.3+encoder.0.0", None),
        ("even:encoder.0.4+decoder.2.0", "even:decoder.2.0", "A (One) has only some of the heads"),
        ("off:cross.3.0+cross.0.4", "", "A (One) has none of the heads"),
        (to_json(KNOCKED_OUT), to_json(KNOCKED_OUT), None),
        (to_json(KNOCKED_OUT).replace('"layer":0', '"layer":9'), "", "there is no layer 9 in the cross-attention"),
    ],
)
def test_only_interventions_that_fit_act_and_that_is_told(
    change: str, left: str, note: str | None, session: dict[str, Any]
):
    stack = CHANGE_B.read(change)
    a, _, notes = resolved(session, CHANGE_A=stack, TEXT_B="c")
    assert a.change == CHANGE_B.read(left)
    assert len(notes) == (note is not None) and all(str(note) in one for one in notes)


def test_interventions_of_a_side_act_after_those_of_the_model():
    of = weights(source=Source("models/one", "1", stack=to_json(KNOCKED_OUT), text=("a b", "typed")))
    off = ablation("zero", [("cross", 0, 1), ("cross", 0, 3), ("encoder", 0, 2)])
    source = side("B", of, change=off, text="c").source
    assert from_json(source.stack).entries == (*KNOCKED_OUT.entries, *off.entries) and len(off.entries) == 2
    assert source.text == ("a b", "typed") and side("B", of).source == of.source
    full = weights(source=Source("models/one", "1", stack=to_json(InterventionStack(entries=KNOCKED_OUT.entries * 32))))
    notes: list[str] = []
    assert sides._fitted(side("B", full, change=off), notes) == side("B", full)
    assert "at most 32 interventions" in notes[0]


def test_where_nothing_is_chosen_a_text_much_like_it_is_compared_or_else_the_next_head():
    of = weights(examples=("the cat sees a dog", "the cat sees the dog", "a bird sings", "the cat saw a bird"))
    b = side("B", of, text="the cat sees a dog", head=HeadName("cross", 2, 3))
    assert sides._another(b) == replace(b, text="the cat sees the dog"), "4 of 5 words, and no other is so like it"
    alone = replace(b, text="one two three four five")
    assert sides._another(alone) == replace(alone, head=HeadName("cross", 0, 0)), "the first follows the last"
    for other, is_like in (("a b c x y", True), ("a b x y z", False)):  # from three words of five on
        b = side("B", weights(examples=(other,)), text="a b c d e")
        assert (sides._another(b).text == other) == is_like


def test_b_is_made_to_write_what_a_writes_only_where_that_says_something():
    a, silent = side(target="typed"), side()
    for of, output in ((a, "x y"), (silent, "")):
        of.__dict__["recipe"] = literal(SimpleNamespace(output=output))
    changed = side("B", change=OFF)
    other = side("B", weights("other"))
    assert teacher_forced(side("B"), a).target == "typed", "the same model on the same text"
    assert not can_be_forced(a, side("B")), "it writes that anyway"
    for forced in (changed, other):
        assert teacher_forced(forced, a) == replace(forced, target="x y")
    for apart in (
        replace(changed, text="a"),  # another text
        side("B", weights("other", corpus="tales")),  # other words
        side("B", weights("other", architecture="decoder_only")),
    ):
        assert not can_be_forced(a, apart)
        assert teacher_forced(apart, a) == apart
    assert teacher_forced(changed, silent).target is None
    view_fields.B_WRITES.set("own")
    assert teacher_forced(changed, a) == changed, "as a person chose"
    assert can_be_forced(a, changed), "so that they can choose again"


def resolved(
    session: dict[str, Any], layer: int = 2, head: int = 1, takes_pairs: bool = False, **chosen: Any
) -> tuple[Side, Side, list[str]]:
    """Both sides where the bar shows a head of the cross-attention of model "one", and this was chosen here."""
    session.clear()
    session |= {"model": "one", "text": "a b", "target": "typed", "attention": "cross", "layer": layer, "head": head}
    for name, value in chosen.items():
        getattr(view_fields, name).set(value)
    usual = {"version": "1", "continues": True, "corpus": "pairs", "examples": (), "takes_pairs": takes_pairs}
    cards: dict[str, Any] = {}
    for name in ("one", "other", "tales"):
        config = weights(architecture="decoder_only" if name == "tales" else "encoder_decoder").config
        cards[name] = SimpleNamespace(name=name, title=name.title(), path=f"models/{name}", config=config, **usual)
    return sides.resolve(cards)


def test_the_sides_are_the_bar_s_but_for_what_is_chosen(session: dict[str, Any]):
    a, b, notes = resolved(session, WEIGHTS_B="other", TEXT_B="c", HEAD_B=HeadName("decoder", 0, 3), CHANGE_A=OFF)
    assert notes == []
    assert (a.letter, a.name, a.text, a.target) == ("A", "One, cross-attention L0.H0 zero-ablated", "a b", "typed")
    assert (b.letter, b.name, b.text, b.target) == ("B", "Other", "c", None)
    assert (a.head, b.head) == (HeadName("cross", 2, 1), HeadName("decoder", 0, 3))
    a, b, _ = resolved(session, TEXT_B="", CHANGE_B=EVEN)
    assert (a.change, b.change, b.text, b.head) == (InterventionStack(), EVEN, "a b", a.head)
    for takes, first, expected in ((True, "c", ("c", "d")), (True, "", ("a b", "d")), (False, "c", "c")):
        a, b, _ = resolved(session, takes_pairs=takes, TEXT_B=first, SECOND_TEXT_B="d")
        assert (a.text, b.text) == ("a b", expected)


def test_something_else_is_looked_for_only_where_b_would_be_as_a(session: dict[str, Any]):
    following = HeadName("cross", 2, 2)
    assert resolved(session)[1].head == following
    own = HeadName("cross", 2, 1)
    for chosen in ({"TEXT_B": ""}, {"CHANGE_B": OFF}, {"WEIGHTS_B": "other"}, {"HEAD_B": own}):
        assert resolved(session, **chosen)[1].head == own, chosen
    assert resolved(session, CHANGE_A=OFF)[1].head == own, "what is changed in A alone differs"


def test_what_is_not_there_gives_way_to_the_bar_s_model_and_is_told(session: dict[str, Any]):
    for wanted in ("nobody", "nobody@3", "one@", "@3", "nobody@x"):
        a, b, notes = resolved(session, WEIGHTS_B=wanted, TEXT_B="")
        assert b.weights == a.weights
        assert notes == [f"There is no model or training run “{wanted}”; One is shown instead."]
    a, b, notes = resolved(session, layer=9, head=9, WEIGHTS_B="tales", TEXT_B="")
    assert (a.head, b.head) == (HeadName("cross", 2, 3), HeadName("decoder", 2, 3))
    assert [note[:8] for note in notes] == ["A (One) ", "B (Tales"]


def test_a_snapshot_has_a_head_of_its_own_or_gives_way_to_the_nearest_of_its_training(
    session: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_run(tmp_path / "pairs", steps=(20, 60))
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    for step, nearest in ((20, 20), (39, 20), (900, 60)):
        _, b, notes = resolved(session, WEIGHTS_B=f"pairs@{step}", HEAD_B=HeadName("cross", 0, 0))
        of = b.weights
        assert (of.name, of.run, of.source.step, of.snapshots) == (f"pairs, step {nearest}", "pairs", nearest, (20, 60))
        message = f"no snapshot at step {step}; step {nearest} is"
        assert [message in note for note in notes] == [True] * (step != nearest)
    own = HeadName("encoder", 0, 1)
    a, b, notes = resolved(session, WEIGHTS_A="pairs@20", WEIGHTS_B="pairs@60", HEAD_A=own)
    assert (a.head, b.head, notes) == (own, own, [])
    a, b, _ = resolved(session, WEIGHTS_A="pairs@20", TEXT_B="", HEAD_A=own)
    assert b.weights == a.weights and b.head == own, "B is as A until something is chosen"
    a, _, _ = resolved(session, HEAD_A=own)
    assert a.head == HeadName("cross", 2, 1), "a model's is the bar's"
