"""A beam search as it is drawn: the sums of its ends against plain forwards, and what clicks open."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headlight import language
from pages.explore.decoding import beams, view_fields
from pages.explore.decoding.beams import DrawnSearch
from pages.explore.decoding.components.branches import TreeNode
from pages.explore.decoding.data import DecodingData
from tests.pages.conftest import PROMPTS
from tests.pages.explore.decoding.decoding_parts import N_NEW, drawn, log_probs

pytestmark = pytest.mark.usefixtures("three_kinds_here")
N_BEAMS = 2


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of few tokens, so that a search is short."""
    monkeypatch.setattr(beams, "FIRST_LENGTH", {"encoder_decoder": N_NEW, "decoder_only": N_NEW})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the tree was drawn from."""
    results: dict[str, Any] = {}
    monkeypatch.setattr(beams, "branches", lambda **given: results.update(given))
    return results


def search(**session: Any) -> DrawnSearch:
    results: list[DrawnSearch] = []
    drawn(lambda data: results.append(beams._search(data)), **session)
    return results[0]


def test_ends_have_the_sums_of_a_forward_and_the_best_one_is_marked(sent: dict[str, Any], three_kinds: Path):
    drawn(beams.show, step=2, penalty=1.0, form="length")
    actual, ends = search(penalty=1.0, form="length"), {end.id: end for end in sent["ends"]}
    assert ends.keys() == actual.ends.keys() != set()
    for node, end in ends.items():
        path = actual.paths[node]
        total = sum(float(log_probs(three_kinds, path[:n])[path[n]]) for n in range(len(path)))
        assert (end.total, end.score) == pytest.approx((total, total / len(path)), abs=1e-4)
    best = max(ends, key=lambda node: ends[node].score)
    assert actual.paths[best] == actual.best
    assert next(node for node in sent["nodes"] if node.id == best).on_path
    at = actual.paths[sent["at"]]
    assert at == actual.greedy[0][: len(at)] and 0 < len(at) <= 2


def test_a_search_is_kept_for_each_penalty_and_for_readers_of_both_languages(
    sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    for alpha, form in ((1.0, "paper"), (1.0, "length"), (2.0, "length")):
        drawn(beams.show, penalty=alpha, form=form)
        assert sent["ends"]
        for end in sent["ends"]:
            divided_by = ((5 + end.n_tokens) / 6) ** alpha if form == "paper" else end.n_tokens**alpha
            assert end.score == pytest.approx(end.total / divided_by, abs=1e-4)
    nodes = sent["nodes"]
    monkeypatch.setattr(language, "_ask", lambda: "de")
    drawn(beams.show, penalty=2.0, form="length")
    assert sent["nodes"] is nodes


def test_beams_of_a_prompt_begin_after_its_last_token(sent: dict[str, Any]):
    given: list[int] = []

    def draw(data: DecodingData) -> None:
        given.append(len(data.given))
        beams.show(data)

    drawn(draw, model="tales", text=PROMPTS[0], attention="decoder", layer=0, step=0)
    nodes: list[TreeNode] = [*sent["nodes"]]
    assert [node.token.kind for node in nodes[: given[0]]] == ["given"] * given[0] and given[0] > 1
    assert nodes[given[0]].parent == nodes[given[0] - 1].id == sent["at"]
    assert all(end.n_tokens <= N_NEW for end in sent["ends"])


def test_the_controls_search_within_what_can_be_chosen(monkeypatch: pytest.MonkeyPatch):
    results: list[dict[str, Any]] = []

    def draw(data: DecodingData) -> None:
        results.append(beams._arguments(data))
        beams._controls()

    for penalty, used in ((0.6, 0.6), (4.5, 2.0)):
        app = drawn(draw, penalty=penalty, form="length")
        arguments = {"n_beams": N_BEAMS, "length_penalty": used, "penalty_form": "length", "max_new_tokens": N_NEW}
        assert results[-1] == arguments
        assert app.slider(key="decoding-penalty-box").value == used
    app.slider(key="decoding-beams-box").set_value(5).run()
    app.slider(key="decoding-penalty-box").set_value(1.5).run()
    assert results[-1] == arguments | {"n_beams": 5, "length_penalty": 1.5}
    monkeypatch.setattr(beams, "FIRST_LENGTH", {"encoder_decoder": 99, "decoder_only": 99})
    drawn(draw)
    assert results[-1]["max_new_tokens"] == 32 - 1, "<bos> takes one of the positions"


SEARCH = DrawnSearch(
    nodes=(),
    ends={8: (-1.5, -1.25), 7: (-2.0, -1.0)},
    paths={5: (), 6: (10,), 7: (10, 11), 8: (10, 12), 9: (13,)},
    dropped=frozenset({9}),
    best=(10, 11),
    greedy=((10, 12), -1.5),
)


@pytest.mark.parametrize(
    ("node", "opened"),
    [(7, ((10, 11), ())), (9, ((13,), (0,))), (5, ((), ())), (99, None), (None, None)],
)
def test_a_click_opens_what_was_written_and_a_dropped_token_is_forced(
    node: int | None, opened: tuple[tuple[int, ...], tuple[int, ...]] | None, monkeypatch: pytest.MonkeyPatch
):
    calls: list[Any] = []
    monkeypatch.setattr(beams, "sent_node", lambda _: node)
    monkeypatch.setattr(
        view_fields, "open_path", lambda tokens, *, forced: calls.append((tuple(tokens), tuple(forced)))
    )
    beams._open(SEARCH)
    assert calls == ([] if opened is None else [opened])


def test_the_best_text_stands_beside_the_greedy_one():
    same = DrawnSearch(**{**vars(SEARCH), "greedy": ((10, 11), -2.0)})
    data: Any = SimpleNamespace(text_of=lambda tokens: " ".join(map(str, tokens)))
    messages = [beams._in_words(data, one).replace("\u2068", "").replace("\u2069", "") for one in (SEARCH, same)]
    assert "“10 11” (−2.00 nats, score −1.00); greedy decoding finds “10 12” (−1.50 nats)" in messages[0]
    assert "both find “10 11” (−2.00 nats, score −1.00)" in messages[1]
