"""The figures of lessons: what they show is what the model held, and faults are reported with their lines."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.tour.lesson_engine import drawing_numbers
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.drawn import Drawn, FigureData, LessonTable, Plot, Strip
from pages.learn.tour.lesson_engine.lesson import FigureSpec, LessonError
from pages.learn.tour.lesson_engine.reader import read_lesson
from tests.pages.learn.tour.lesson_engine.conftest import ROOT, MakeEvidence, array

CAT = "The cat sees the dog."
HEAD = "title: T\nattention: cross\nlayer: 1\nhead: 2\n\n[figure]\n"  # the figure's kind is in line 7


@pytest.fixture
def draw(make_evidence: MakeEvidence):
    """Draws a figure of a lesson about en-fr, as it is written."""

    def of(text: str, *, name: str = "en-fr", on: str = CAT, **moved: float) -> Drawn:
        lesson = read_lesson(HEAD + text, name="t", file="t.md", pages={})
        (spec,) = lesson.parts
        assert isinstance(spec, FigureSpec)
        evidence = make_evidence(name, on, other="The dog sees the cat.")
        return KINDS[spec.kind].draw(FigureData(lesson=lesson, spec=spec, evidence=evidence, moved=moved))

    return of


def numbers(drawn: Drawn) -> list[list[str]]:
    assert isinstance(drawn, Plot)
    return [line.split(",") for line in drawn.csv.strip().splitlines()[1:]]


def test_a_head_is_the_lessons_unless_the_figure_says_another(draw, make_evidence: MakeEvidence):
    for text, source in (
        ("kind: head", "pattern[cross, 1, 2]"),
        ("kind: head\nattention: decoder\nlayer: 0\nhead: 1", "pattern[decoder, 0, 1]"),
    ):
        heatmap = next(trace for trace in draw(text).figure.data if trace.name == "attention")
        np.testing.assert_allclose(np.nan_to_num(heatmap.z), array(make_evidence("en-fr", CAT), source), atol=1e-6)


def test_the_smoothed_target_is_that_of_the_first_word_of_which_the_chapter_asks(draw):
    assert {word: float(hot) for word, hot, _ in numbers(draw("kind: smoothing\nsmoothing: 0.1"))}["i"] == 1


def test_a_matrix_has_as_many_numbers_as_can_be_drawn(draw, monkeypatch: pytest.MonkeyPatch):
    text = "kind: matrix\nvalues: scores[cross, 1, 2]"
    n = sum(len(row) - 1 for row in numbers(draw(text)))
    monkeypatch.setattr(drawing_numbers, "_MOST_CELLS", n - 1)
    with pytest.raises(LessonError, match="too many for a figure"):
        draw(text)


def test_a_softmax_by_hand(draw, make_evidence: MakeEvidence):
    scores = array(make_evidence("en-fr", CAT), "scores[cross, 1, 2].at(query=2)")
    for scale in (0.0, 0.5, 1.0, 7.0):
        raised = np.exp(scale * scores - np.max(scale * scores))
        shown = [float(line[-1]) for line in numbers(draw("kind: softmax\nquery: 2", scale=scale))]
        np.testing.assert_allclose(shown, raised / raised.sum(), atol=1e-9)


def test_the_steps_of_a_query(draw, make_evidence: MakeEvidence):
    table = draw("kind: steps\nquery: 3")
    assert isinstance(table, LessonTable)
    evidence = make_evidence("en-fr", CAT)
    for place, (_, product, score, weight) in enumerate(table.rows):
        at = f"[cross, 1, 2].at(query=3, key={place})"
        assert product == evidence.told(f"dot(q[cross, 1, 2].at(query=3), k[cross, 1, 2].at(key={place}))", 2)
        assert (score, weight) == (evidence.told(f"scores{at}", 2), evidence.told(f"pattern{at}", 3))


def test_beams_tell_what_becomes_of_each(draw):
    table = draw("kind: beams\nbeams: 2\ntokens: 4", name="stories", on="Once there was a boy named Ben.", written=2.0)
    assert [row[2] for row in table.rows].count("kept") == 2
    totals = [float(row[1].replace("−", "-")) for row in table.rows]
    assert totals == sorted(totals, reverse=True)


def test_the_next_tokens_by_torch(draw):
    model, tokenizer = tc.load(ROOT / "checkpoints" / "en-fr")
    drawn = draw("kind: next-tokens\nwriting: voit")
    assert isinstance(drawn, LessonTable) and drawn.marked == 2
    target = [*tokenizer.target.encode("Le chat voit le chien."), model.config.eos_id]
    source = torch.tensor([tokenizer.encode_for(CAT, "encoder_decoder")])
    reads = [model.config.bos_id, *target[:-1]]
    with torch.inference_mode():
        probs = model(source, torch.tensor([reads]))[0].softmax(dim=-1)
    columns = [reads, target, probs.argmax(dim=-1).tolist()]
    assert [[row[0], row[1], row[3]] for row in drawn.rows] == [
        tokenizer.target.tokens(ids) for ids in zip(*columns, strict=True)
    ]
    results = [float(row[2]) for row in drawn.rows]
    assert results == pytest.approx([float(of[right]) for right, of in zip(target, probs, strict=True)], abs=6e-4)


@pytest.mark.parametrize(("moved", "divided_by"), [({}, 1.0), ({"temperature": 2.0}, 2.0)])
def test_the_top_tokens_by_hand(draw, make_evidence: MakeEvidence, moved: dict[str, float], divided_by: float):
    raised = np.exp(array(make_evidence("en-fr", CAT), "logits.at(pos=1)") / divided_by)
    best = sorted(raised / raised.sum(), reverse=True)[:5]
    shown = numbers(draw("kind: top-tokens\npos: 1\nn: 5\ntemperature: 1", **moved))
    assert shown[0][0] == "chat"
    np.testing.assert_allclose([float(value) for _, value in shown], best, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("kind: row\nquery: you", 8, "no query “you”"),
        ("kind: row\nlayer: 5", 8, "no layer “5”"),
        ("kind: head\nkey: you", 8, "no key “you”"),
        ("kind: matrix\nvalues: d_head", 8, "values with 2 axes"),
        ("kind: matrix\nvalues: output", 8, "output"),
        ("kind: matrix", 6, "needs values"),
        ("kind: bars\nvalues: pattern[cross, 0, 0]", 8, "values with 1 axes"),
        ("kind: bars\nvalues: sum(probs, over=vocab)\nbeside: d_head", 9, "values with 1 axes"),
        ("kind: bars\nvalues: sum(probs, over=vocab)\nbeside: sum(probs, over=pos)", 9, "7 tokens, but 944 values"),
        ("kind: tokens\nvalues: sum(probs, over=pos)", 8, "7 tokens, but 944 values"),
        ("kind: matrix\nvalues: embedding[encoder].at(pos=90)", 8, "only 0 to 6"),
        ("kind: positions\nwidth: 7", 8, "must be even"),
        ("kind: top-tokens\nwriting: you", 8, "no writing “you”"),
        ("kind: next-tokens\npos: 7", 8, "only 0 to 6"),
    ],
)
def test_faults_are_told_with_their_lines(draw, text: str, line: int, part: str):
    with pytest.raises(LessonError) as caught:
        draw(text)
    assert caught.value.line == line
    assert part in str(caught.value)


def test_a_model_that_fills_in_blanks_predicts_no_next_token(draw):
    for kind in ("top-tokens", "next-tokens"):
        with pytest.raises(LessonError, match="does not generate"):
            draw(f"kind: {kind}", name="fill-in", on="The ____ sees the dog.")


def test_bars_that_differ_little_are_told_apart_by_a_named_range_that_excludes_none(draw):
    source = "kind: bars\nvalues: 0.99 + 0.001 * softmax(scores[cross, 1, 2].at(query=2))\ndecimals: 4"
    figure = draw(f"{source}\nfrom: 0.98\nto: 1").figure
    assert figure.layout.yaxis.range[0] == 0.98 and figure.layout.yaxis.range[1] < 1.01
    with pytest.raises(LessonError, match="exclude some"):
        draw(f"{source}\nfrom: 0.99\nto: 0.9901")


def test_tokens_with_values(draw):
    strip = draw("kind: tokens\nvalues: pattern[cross, 1, 2].at(query=3)")
    assert isinstance(strip, Strip)
    assert strip.labels[:2] == ("The", "cat")
    assert sum(strip.weights) == pytest.approx(1, abs=1e-5)
