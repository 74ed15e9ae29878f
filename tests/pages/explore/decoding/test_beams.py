"""A beam search as it is drawn: every token against plain forwards, the numbers of its ends, and what clicks open."""

from pathlib import Path
from typing import Any

import pytest

from pages.explore.decoding import beams, view_fields
from pages.explore.decoding.beams import Search
from pages.explore.decoding.components.branches import Node
from pages.explore.decoding.data import DecodingData
from pages.shared.recipe import value_of
from tests.pages.conftest import PROMPTS, words_of
from tests.pages.explore.decoding.decoding_parts import N_NEW, drawn, loaded, log_probs
from transformer_core import language

pytestmark = pytest.mark.usefixtures("three_kinds_here")
N_BEAMS = 2


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of few tokens, so that a search is short."""
    monkeypatch.setattr(beams, "FIRST_LENGTH", {"encoder_decoder": N_NEW, "decoder_only": N_NEW})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the tree was drawn from."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(beams, "branches", lambda **given: found.update(given))
    return found


def search(**session: Any) -> Search:
    found: list[Search] = []
    drawn(lambda data: found.append(beams._search(data)), **session)
    return found[0]


def test_each_token_is_as_probable_as_a_forward_says_and_the_best_text_has_the_highest_score(three_kinds: Path):
    found = search(penalty=1.0, form="length")
    tokenizer = loaded(three_kinds)[1].target
    nodes = {node.id: node for node in found.nodes}
    written = [node for node in found.nodes if found.paths[node.id]]
    assert len(written) > N_NEW
    for node in written:
        *before, token = path = found.paths[node.id]
        after = log_probs(three_kinds, tuple(before))
        best = after.topk(5)
        assert node.log_prob == pytest.approx(float(after[token]), abs=1e-4)
        assert node.rank == int((after > after[token]).sum())
        assert node.position == len(path)
        assert node.label == tokenizer.labels(path)[-1]
        assert [label for label, _ in node.alternatives] == [tokenizer.labels([t])[0] for t in best.indices.tolist()]
        assert [p for _, p in node.alternatives] == pytest.approx(best.values.exp().tolist(), abs=1e-5)
        assert found.paths[node.parent or 0] == tuple(before)
        assert node.on_path == (path == found.best[: len(path)])
        total = sum(float(log_probs(three_kinds, path[:n])[path[n]]) for n in range(len(path)))
        assert node.score == pytest.approx(total / len(path), abs=1e-4)
        if node.kind == "ended":
            assert found.ends[node.id] == pytest.approx((total, total / len(path)), abs=1e-4)
    for length in range(1, N_NEW + 1):
        kinds = [node.kind for node in written if node.position == length]
        assert len(kinds) <= 2 * N_BEAMS
        assert kinds.count("kept") <= N_BEAMS
    assert found.dropped == {node.id for node in written if node.kind == "dropped"}
    assert {*found.ends} == {node.id for node in written if node.kind == "ended"}
    best_end = max(found.ends, key=lambda node: found.ends[node][1] or 0)
    assert found.paths[best_end] == found.best and nodes[best_end].on_path


def test_a_beam_that_goes_on_stands_first_among_its_siblings(sent: dict[str, Any]):
    drawn(beams.show, beams=4)
    children: dict[int, list[Node]] = {}
    for node in sent["nodes"]:
        if node.parent is not None:
            children.setdefault(node.parent, []).append(node)
    for siblings in children.values():
        if any(node.kind != "dropped" for node in siblings):
            assert siblings[0].kind != "dropped"
        if any(node.on_path for node in siblings):
            assert siblings[0].on_path


@pytest.mark.parametrize("temperature", [0.0, 5.0])
def test_greedy_decoding_takes_the_best_token_each_time_however_the_text_is_sampled(
    temperature: float, three_kinds: Path
):
    tokens, total = search(temperature=temperature).greedy
    by_hand: tuple[int, ...] = ()
    sum_by_hand = 0.0
    eos_id = loaded(three_kinds)[0].config.eos_id
    while len(by_hand) < N_NEW and eos_id not in by_hand:
        after = log_probs(three_kinds, by_hand)
        by_hand, sum_by_hand = (*by_hand, int(after.argmax())), sum_by_hand + float(after.max())
    assert tokens == by_hand
    assert total == pytest.approx(sum_by_hand, abs=1e-4)


def test_ends_come_with_their_numbers_and_the_shown_step_is_marked(sent: dict[str, Any], three_kinds: Path):
    app = drawn(beams.show, step=2)
    decode = loaded(three_kinds)[1].target.decode
    of_ends = {end.id: end for end in sent["ends"]}
    found = search()
    assert of_ends.keys() == found.ends.keys() != set()
    for node, (total, score) in found.ends.items():
        end = of_ends[node]
        assert (end.total, end.score, end.n_tokens) == (total, score, len(found.paths[node]))
        assert end.text == (decode(found.paths[node]).strip() or "(empty)")
    at = found.paths[sent["at"]]
    assert at == found.greedy[0][: len(at)] and 0 < len(at) <= 2
    assert "Beam search" in words_of(app)
    drawn(beams.show, step=0)
    assert found.paths[sent["at"]] == ()
    unlikely = int(log_probs(three_kinds, ()).argmin())
    drawn(beams.show, branches=(view_fields.Branch((unlikely,), (0,)),), step=3)
    assert found.paths[sent["at"]] == (), "where the search has not been, the place where it was left"


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
    nodes: list[Node] = [*sent["nodes"]]
    assert [node.kind for node in nodes[: given[0]]] == ["given"] * given[0] and given[0] > 1
    assert nodes[given[0]].parent == nodes[given[0] - 1].id == sent["at"]
    assert all(end.n_tokens <= N_NEW for end in sent["ends"])


def test_the_controls_search_within_what_can_be_chosen(monkeypatch: pytest.MonkeyPatch):
    found: list[dict[str, Any]] = []

    def draw(data: DecodingData) -> None:
        found.append(beams._arguments(data))
        beams._controls()

    for penalty, used in ((0.6, 0.6), (4.5, 2.0)):
        app = drawn(draw, penalty=penalty, form="length")
        arguments = {"n_beams": N_BEAMS, "length_penalty": used, "penalty_form": "length", "max_new_tokens": N_NEW}
        assert found[-1] == arguments
        assert app.slider(key="decoding-penalty-box").value == used
    app.slider(key="decoding-beams-box").set_value(5).run()
    app.slider(key="decoding-penalty-box").set_value(1.5).run()
    assert found[-1] == arguments | {"n_beams": 5, "length_penalty": 1.5}
    monkeypatch.setattr(beams, "FIRST_LENGTH", {"encoder_decoder": 99, "decoder_only": 99})
    drawn(draw)
    assert found[-1]["max_new_tokens"] == 32 - 1, "<bos> takes one of the positions"


SEARCH = Search(
    nodes=(),
    ends={8: (-1.5, -1.25), 7: (-2.0, -1.0)},
    paths={5: (), 6: (10,), 7: (10, 11), 8: (10, 12), 9: (13,)},
    dropped=frozenset({9}),
    best=(10, 11),
    greedy=((10, 12), -1.5),
)


def test_the_best_text_stands_beside_the_greedy_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beams, "text_of", lambda _, tokens: " ".join(map(str, tokens)))
    same = Search(**{**vars(SEARCH), "greedy": ((10, 11), -2.0)})
    nothing: Any = None
    said = [beams._in_words(nothing, one).replace("\u2068", "").replace("\u2069", "") for one in (SEARCH, same)]
    assert "“10 11” (−2.00 nats, score −1.00); greedy decoding finds “10 12” (−1.50 nats)" in said[0]
    assert "both find “10 11” (−2.00 nats, score −1.00)" in said[1]


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


def test_the_lines_give_what_was_found_and_the_greedy_text(three_kinds: Path):
    found: list[Any] = []
    drawn(lambda data: found.extend(value_of([line.value for line in beams.code(data)])))
    by_page, decode = search(), loaded(three_kinds)[1].target.decode
    ends = sorted(((total, score) for total, score in by_page.ends.values()), key=lambda one: -(one[1] or 0))[:N_BEAMS]
    texts, (greedy, total) = found
    assert [one[1:] for one in texts] == ends
    assert texts[0][0] == decode(by_page.best)
    assert (greedy, total) == (decode(by_page.greedy[0]), by_page.greedy[1])
