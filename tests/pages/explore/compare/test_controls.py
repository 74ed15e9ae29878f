"""What each side of the Compare page is, in words and in widgets, and what it says about its text."""

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.interventions.records import CellEdit, InterventionStack
from pages.explore.compare import controls, view_fields
from pages.explore.compare.ablation import ablation
from pages.explore.compare.sides import Side
from pages.shared import runs
from pages.shared.sources import Source
from tests.pages.explore.compare.compare_parts import give, run, shown
from tests.pages.explore.compare.test_sides import side, weights

SNAPSHOTS = {"pairs": [0, 20, 40, 60], "short": [0], "none": []}


@pytest.fixture(autouse=True)
def trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings with these snapshots, and one that cannot be read."""
    results: dict[str, Any] = {name: SimpleNamespace(name=name) for name in (*SNAPSHOTS, "broken")}

    def film(of: Any) -> Any:
        if of.name == "broken":
            raise OSError("gone")
        return SimpleNamespace(snapshots=lambda: SNAPSHOTS[of.name])

    monkeypatch.setattr(runs, "available", lambda: results)
    monkeypatch.setattr(runs, "find", results.get)
    monkeypatch.setattr(controls.run_readings, "film", film)


CARDS: dict[str, Any] = {name: SimpleNamespace(title=name.title()) for name in ("one", "other")}


def choices(a: Side, b: Side, **session: Any) -> AppTest:
    return shown(lambda: controls.choose(a, b, CARDS), **session)


def snapshot(step: int = 40) -> Any:
    return weights(source=Source("runs/pairs", "1", step=step), run="pairs", snapshots=(0, 20, 40, 60))


A, B = side("A"), side("B")


def test_a_model_is_chosen_from_all_others_and_from_trainings_that_can_be_shown(monkeypatch: pytest.MonkeyPatch):
    app = choices(A, B)
    assert app.selectbox(key="compare-at-box").options == ["model above", "training pairs", "training short"]
    options = ["same model", "Other", "training pairs", "training short"]
    assert app.selectbox(key="compare-with-box").options == options
    app = choices(side("A", snapshot()), B, **{view_fields.WEIGHTS_A.key: "pairs@40"})
    assert app.selectbox(key="compare-with-box").options[:3] == ["same model", "One", "Other"], "A is another model"
    monkeypatch.setattr(runs, "available", dict)
    app = choices(A, B)
    of_a = app.selectbox(key="compare-at-box")
    assert of_a.disabled and "appear here" in str(of_a.help), "there are no trainings"


@pytest.mark.parametrize(
    ("name", "chosen", "field", "is_cleared"),
    [
        ("at", "pairs@", "pairs@60", True),
        ("with", "pairs@", "pairs@40", False),
        ("at", "", "", True),
    ],
)
def test_of_a_training_a_begins_with_the_last_step_and_b_with_one_in_the_middle(
    name: str, chosen: str, field: str, is_cleared: bool
):
    of = "short" if chosen == "pairs@" else "pairs"
    before = {field.key: f"{of}@0" for field in (view_fields.WEIGHTS_A, view_fields.WEIGHTS_B)}
    of_snapshot = replace(snapshot(0), run=of)
    app = choices(
        side("A", of_snapshot), side("B", of_snapshot), **before, **{view_fields.HEAD_A.key: HeadName("cross", 2, 1)}
    )
    app.selectbox(key=f"compare-{name}-box").set_value(chosen).run()
    assert app.session_state[f"compare-{name}"] == field
    assert (app.session_state[view_fields.HEAD_A.key] is None) == is_cleared
    other = "with" if name == "at" else "at"
    assert app.session_state[f"compare-{other}"] == f"{of}@0"


def test_a_snapshot_is_chosen_where_there_are_several():
    of_one = weights(source=Source("runs/short", "1", step=0), run="short", snapshots=(0,))
    app = choices(side("A", of_one), side("B", snapshot()), **{"compare-at": "short@0", "compare-with": "pairs@40"})
    assert [slider.key for slider in app.select_slider] == ["compare-with-snapshot"]
    slider = app.select_slider(key="compare-with-snapshot")
    assert slider.value == 40 and slider.options == ["step 0", "step 20", "step 40", "step 60"]
    slider.set_value(20).run()
    assert app.session_state["compare-with"] == "pairs@20"
    assert app.session_state["compare-at"] == "short@0"


def test_the_head_of_each_side_is_chosen_out_of_its_own():
    small = weights("two", architecture="decoder_only")
    app = choices(
        A, side("B", small, head=HeadName("decoder", 1, 0)), **{view_fields.HEAD_B.key: HeadName("decoder", 1, 0)}
    )
    of_a, of_b = app.selectbox(key="compare-ahead-box"), app.selectbox(key="compare-bhead-box")
    assert len(of_a.options) == 28 and of_a.value == HeadName("cross", 2, 1)
    assert of_b.options[:3] == ["same head", "decoder L0.H0", "decoder L0.H1"] and len(of_b.options) == 1 + 12
    assert of_b.value == HeadName("decoder", 1, 0)
    of_b.set_value(HeadName("decoder", 2, 3)).run()
    assert app.session_state[view_fields.HEAD_B.key] == HeadName("decoder", 2, 3)
    app.selectbox(key="compare-bhead-box").set_value("").run()
    assert app.session_state[view_fields.HEAD_B.key] is None
    assert app.session_state[view_fields.TEXT_B.key] == ""
    app.selectbox(key="compare-ahead-box").set_value(HeadName("encoder", 0, 2)).run()
    assert [app.session_state[part] for part in ("attention", "layer", "head")] == ["encoder", 0, 2]


def test_the_ablation_of_each_side_and_its_heads_are_chosen_there():
    heads = [HeadName("cross", 0, 1), HeadName("cross", 1, 2)]
    for name, other, head in (("change", "bchange", heads[0]), ("bchange", "change", heads[1])):
        app = choices(side("A", head=heads[0]), side("B", head=heads[1]), **{view_fields.HEAD_B.key: heads[1]})
        app.selectbox(key=f"compare-{name}-method").set_value("uniform").run()
        assert app.session_state[f"compare-{name}"] == ablation("uniform", [head])
        assert app.selectbox(key=f"compare-{other}-method").value == ""
    changes = {
        "compare-change": ablation("zero", [("cross", 0, 0)]),
        "compare-bchange": ablation("uniform", [("cross", 1, 1), ("encoder", 0, 2)]),
    }
    app = choices(
        *(side(letter, change=change) for letter, change in zip("AB", changes.values(), strict=True)), **changes
    )
    of_a, of_b = (app.multiselect(key=f"{name}-heads") for name in changes)
    assert of_a.value == [HeadName("cross", 0, 0)]
    assert of_b.value == [HeadName("cross", 1, 1), HeadName("encoder", 0, 2)]
    of_b.set_value([HeadName("cross", 2, 2)]).run()
    assert app.session_state["compare-bchange"] == ablation("uniform", [("cross", 2, 2)])
    assert app.session_state["compare-change"] == changes["compare-change"]


def test_other_interventions_are_named_and_can_be_removed():
    edit = InterventionStack(entries=(CellEdit(attention="cross", layer=0, operation="knock_out", cells=((0, 0),)),))
    app = choices(A, side("B", change=edit), **{"compare-bchange": edit})
    box = app.selectbox(key="compare-bchange-method")
    assert box.options == ["none", "zero ablation", "uniform attention", "interventions"] and not app.multiselect
    assert side("B", change=edit).name == "one, 1 intervention"
    box.set_value("").run()
    assert app.session_state["compare-bchange"] == InterventionStack()


def test_b_is_forced_on_a_s_output_and_reads_a_s_text_until_a_person_says_otherwise():
    forced = A, side("B", change=ablation("zero", [("cross", 0, 0)]))
    app = choices(*forced)
    assert app.toggle(key="compare-writes-box").value
    app.toggle(key="compare-writes-box").set_value(False).run()
    assert app.session_state[view_fields.B_WRITES.key] == "own"
    app.toggle(key="compare-writes-box").set_value(True).run()
    assert app.session_state[view_fields.B_WRITES.key] == ""
    toggles = [toggle.key for toggle in choices(A, B).toggle]
    assert "compare-writes-box" not in toggles, "it writes the same anyway"
    box = app.text_input(key="compare-btext-line")
    assert box.value == "" and "same as A" in box.placeholder
    box.set_value("  c \t d ").run()
    assert app.session_state[view_fields.TEXT_B.key] == "  c \t d "


IGNORED = "This model ignores some spaces, tabs or line breaks in this text."


def says(of: Side | None = None, **more: Any) -> str:
    """What a side says, without the marks of HTML."""
    of_run = run({}, **{"unknown": (), "detours": (), "blanks": (1,), "not_finite": None} | more)
    return unescape(re.sub(r"<[^>]*>", "", str(controls._says(give(of or A, of_run), None))))


@pytest.mark.parametrize(
    ("of", "run_of", "message"),
    [
        (A, {"output": " u v "}, "A, one, generates “u v·”"),
        (B, {"output": "u v\ufffd", "architecture": "decoder_only"}, "B, one, continues with “u v”"),
        (
            B,
            {"output": "", "architecture": "decoder_only", "target": ("v",), "n_given": 1, "predicted": (" w",)},
            "B, one, has the most probable next token “·w”",
        ),
        (A, {"output": "u", "blanks": (1,), "architecture": "encoder_only"}, "A, one, fills in “u”"),
        (A, {"output": ""}, "A, one, generates nothing"),
        (A, {"output": "\n"}, "A, one, generates “↵”"),
        (B, {"output": "u", "ignores_white_space": True}, f"B, one, generates “u”. {IGNORED}"),
        (side(target="t"), {"output": "t"}, "A, one, is teacher-forced on “t”, which it also generates on its own"),
        (
            A,
            {"output": "u", "unknown": ("k" * 40, "l", "m", "n")},
            f"A, one, generates “u”. Not in the vocabulary: “{'k' * 30}”, “l”, “m”.",
        ),
    ],
)
def test_a_side_says_what_it_writes_and_what_it_could_not_read(of: Side, run_of: dict[str, Any], message: str):
    assert says(of, **run_of) == message
