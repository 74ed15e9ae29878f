"""The effect on the output: against plain forwards with and without a head, and where there is none."""

from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.explore.compare import effect
from pages.explore.compare.data import ComparisonData
from pages.shared.recipe import value_of
from pages.shared.sources import Source
from tests.pages.conftest import EXAMPLES, GAPS, words_of
from tests.pages.explore.compare.compare_parts import comparison, loaded, run, shown
from tests.pages.explore.compare.test_sides import side, weights
from tests.pages.explore.parts import Drawing

OFF = {"change": "off:encoder.0.1+cross.1.2"}


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """What plain forwards over A's output give."""

    tokens: list[int]
    labels: list[str]
    a: np.ndarray  # log-probabilities of all tokens [token, vocabulary], nats
    b: np.ndarray
    own: str  # what B writes by itself

    def of_tokens(self, log_probs: np.ndarray) -> np.ndarray:
        return log_probs[np.arange(len(self.tokens)), self.tokens]

    @property
    def kl(self) -> np.ndarray:
        return np.asarray((np.exp(self.a) * (self.a - self.b)).sum(axis=1))


@pytest.fixture(scope="module")
def by_hand(two_models: Path) -> ByHand:
    model, tokenizer = tc.load(two_models / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[1], eos=True)])
    (written,) = tc.greedy_decode(model, src, max_new_tokens=31).tokens
    n = len(written) - 1 if written[-1] == tokenizer.eos_id else len(written) - 2  # the last one is not read
    edits = {
        "encoder.blocks.0.self_attn.hook_z": tc.zero_heads([1]),
        "decoder.blocks.1.cross_attn.hook_z": tc.zero_heads([2]),
    }
    log_probs, own = [], ""
    for one in ({}, edits):
        with torch.inference_mode(), tc.intervene(model, one):
            log_probs.append(model(src, written[None, :-1]).log_softmax(dim=-1)[0, :n].double().numpy())
            own = tokenizer.decode(tc.greedy_decode(model, src, max_new_tokens=31).tokens[0])
    tokens = written[1 : n + 1].tolist()
    labels = tokenizer.target.labels(written.tolist())[1 : n + 1]
    return ByHand(tokens=tokens, labels=[*labels], a=log_probs[0], b=log_probs[1], own=own.strip())


@pytest.fixture
def ablated(two_models: Path) -> ComparisonData:
    """B is A without two heads."""
    found: list[ComparisonData] = []
    shown(lambda: found.append(ComparisonData.of(loaded("A", two_models), loaded("B", two_models, **OFF))))
    return found[0]


def test_bars_are_the_changes_of_log_probability_from_a_to_b(
    ablated: ComparisonData, by_hand: ByHand, drawings: dict[str, Drawing]
):
    words = unescape(words_of(shown(lambda: draw(ablated))))
    drawn = drawings["compare-effect"]
    before, after = by_hand.of_tokens(by_hand.a), by_hand.of_tokens(by_hand.b)
    assert np.abs(after - before).max() > 0.01
    np.testing.assert_allclose(np.array(drawn.trace("").y), after - before, atol=1e-5)
    assert "B − A" in drawn.title
    assert [text.rsplit(":", 1)[0].strip("\u2068\u2069") for text in drawn.trace("").customdata] == by_hand.labels
    arrays = {"log_prob_a": before, "log_prob_b": after, "kl": by_hand.kl}
    assert drawn.arrays.keys() == arrays.keys()
    for name, expected in arrays.items():
        np.testing.assert_allclose(drawn.arrays[name], expected, atol=1e-5)
    assert drawn.csv[0] == ["token", "quantity", "nats"]
    assert drawn.column(1) == ["log_prob_a", "log_prob_b", "change", "kl"] * len(before)
    assert drawn.column(0)[::4] == by_hand.labels
    columns = np.array([float(number) for number in drawn.column(2)]).reshape(-1, 4)
    np.testing.assert_allclose(columns, np.stack([before, after, after - before, by_hand.kl], axis=1), atol=1e-5)
    losses = -before.mean(), -after.mean()
    told = f"loss {losses[0]:.3f} → {losses[1]:.3f} nats per token ({losses[1] - losses[0]:+.3f}), mean KL(A ‖ B) "
    assert told + f"{by_hand.kl.mean():.3f} nats." in words
    differs = by_hand.own != ablated.model_runs[0].output.strip()
    assert (f"B generates “{by_hand.own}”" if differs else "B generates the same") in words

    lines = effect.code(ablated)
    assert len(lines) == 2 + 4
    change, of_lines, kl, own = value_of([line.value for line in lines[2:]])
    np.testing.assert_allclose(change, after - before, atol=1e-5)
    np.testing.assert_allclose(of_lines, losses, atol=1e-5)
    assert kl == pytest.approx(by_hand.kl.mean(), abs=1e-5)
    assert own.strip() == by_hand.own, "not what it was forced to"
    assert ablated.b.target == ablated.model_runs[0].output

    made: list[Any] = []
    other = replace(ablated, b=replace(ablated.b, change="off:encoder.0.1"))
    shown(lambda: made.extend([effect.edit(ablated), effect.edit(other)]))
    edit, another = made
    assert [*edit.labels] == by_hand.labels and edit.name != another.name
    np.testing.assert_allclose(edit.before, np.exp(before), atol=1e-5)
    np.testing.assert_allclose(edit.after, np.exp(after), atol=1e-5)


def test_what_b_writes_on_its_own_is_named_where_it_differs(monkeypatch: pytest.MonkeyPatch):
    for output, own, said in ((" u v", "u v ", "the same"), ("u v", "u w", "“u w”"), ("u v", " ", "“…”")):
        monkeypatch.setattr(effect, "_free_running", lambda _, own=own: SimpleNamespace(output=own))
        data = comparison(run({}, output=output), run({}, output="forced"))
        assert effect._own_output(data) == f"generates {said}"


def draw(data: ComparisonData) -> None:
    effect.show(data)
    effect.summarise(data)


SNAPSHOT = weights(source=Source("models/one", "1", step=3))


@pytest.mark.parametrize(
    ("of_b", "is_one"),
    [
        ({"change": "off:cross.0.0"}, True),
        ({"of": SNAPSHOT}, True),
        ({}, False),  # nothing was changed
        ({"of": SNAPSHOT, "text": "a c"}, False),
        ({"of": weights("other")}, False),
    ],
)
def test_there_is_an_effect_between_two_versions_of_one_model_on_one_text(of_b: dict[str, Any], is_one: bool):
    data = comparison(run({}), run({}), side("A"), side("B", **of_b))
    assert effect.applies(data) == is_one
    assert effect.applies(replace(data, a=data.b, b=data.a)) == is_one


def test_where_nothing_is_measured_that_is_said(two_models: Path, drawings: dict[str, Drawing]):
    data = comparison(run({}), run({}), side("A"), side("B", text="a c", change="off:cross.0.0"))
    app = shown(lambda: draw(data))
    assert "The effect is measured between two versions of one model on the same text." in words_of(app)
    assert "Effect of B" not in words_of(app) and not drawings
    assert len(effect.code(data)) == 2, "what each side says"
    silent = comparison(run({}, predicts=False), run({}, predicts=False), side("A"), side("B", change="off:cross.0.0"))
    assert "has no language-modelling head" in words_of(shown(lambda: effect.show(silent)))


def blanks(folder: Path, text: str) -> ComparisonData:
    found: list[ComparisonData] = []
    a = loaded("A", folder, "gaps", text=text)
    b = loaded("B", folder, "gaps", text=text, change="off:encoder.0.0")
    shown(lambda: found.append(ComparisonData.of(a, b)))
    return found[0]


@torch.inference_mode()
def test_the_output_of_a_masked_model_is_the_most_probable_token_of_each_blank(
    three_kinds: Path, drawings: dict[str, Drawing]
):
    model, tokenizer = tc.load(three_kinds / "gaps")
    ids = torch.tensor([tokenizer.encode_for(GAPS[1], "encoder_only")])
    places = [place for place, token in enumerate(ids[0].tolist()) if token == tokenizer.mask_id]
    a = model(ids)[0, places].log_softmax(-1)
    with tc.intervene(model, {"encoder.blocks.0.self_attn.hook_z": tc.zero_heads([0])}):
        b = model(ids)[0, places].log_softmax(-1)
    best = a.argmax(dim=-1, keepdim=True)
    expected = (b - a).gather(1, best)[:, 0].numpy()
    data = blanks(three_kinds, GAPS[1])
    shown(lambda: effect.show(data))
    np.testing.assert_allclose(np.array(drawings["compare-effect"].trace("").y), expected, atol=1e-5)
    assert drawings["compare-effect"].column(0)[::4] == tokenizer.labels(best[:, 0].tolist())
    drawings.clear()
    data = blanks(three_kinds, "The cat sees the dog.")
    words = words_of(shown(lambda: draw(data)))
    assert "This text has no blanks" in words and "Effect of B" not in words
    assert not drawings and len(effect.code(data)) == 2


def test_without_ablated_heads_there_is_nothing_to_predict(two_models: Path):
    made: list[Any] = []

    def look() -> None:
        a = loaded("A", two_models)
        for b in (loaded("B", two_models), loaded("B", two_models, text=EXAMPLES[0], **OFF)):
            made.append(effect.edit(ComparisonData.of(a, b)))
        off = loaded("A", two_models, **OFF), loaded("B", two_models, **OFF)
        made.append(effect.edit(ComparisonData.of(*off)))

    shown(look)
    assert made == [None, None, None]
