"""A beam search as it is drawn: every token against plain forwards, the numbers of its ends, and what clicks open."""

from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from pages.explore.decoding import beams, view_fields
from pages.explore.decoding.beams import Search
from pages.explore.decoding.components.branches import Node
from pages.explore.decoding.data import DecodingData
from pages.shared import models
from pages.shared.recipe import value_of
from tests.pages.conftest import EXAMPLES, PROMPTS, words_of
from tests.pages.explore.parts import shown

pytestmark = pytest.mark.usefixtures("three_kinds_here")
VIEW = {"model": "en-fr", "text": EXAMPLES[0], "attention": "cross", "layer": 1, "head": 0, "continues": True}
N_BEAMS, N_NEW = 2, 4


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of few tokens, so that a search is short."""
    monkeypatch.setattr(beams, "FIRST_LENGTH", {"encoder_decoder": N_NEW, "decoder_only": N_NEW})


def drawn(draw: Any, **session: Any) -> Any:
    """Draw something of a text that is being written; fields by their names."""

    def part() -> None:
        data = DecodingData.current(models.available()[session.get("model", VIEW["model"])])
        assert data is not None
        draw(data)

    values = {name if name in VIEW else f"decoding-{name}": value for name, value in session.items()}
    return shown(part, **VIEW | {"decoding-beams": N_BEAMS, "decoding-length": N_NEW} | values)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the tree was drawn from."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(beams, "branches", lambda **given: found.update(given))
    return found


@torch.inference_mode()
def log_probs(folder: Path, written: tuple[int, ...]) -> torch.Tensor:
    """Of all tokens behind these, in nats, by a plain forward."""
    model, tokenizer = tc.load(folder / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[0], eos=True)])
    return model(src, torch.tensor([[model.config.bos_id, *written]]))[0, -1].log_softmax(-1)


def search(**session: Any) -> Search:
    found: list[Search] = []
    drawn(lambda data: found.append(beams._search(data)), **session)
    return found[0]


@pytest.mark.slow
def test_each_token_is_as_probable_as_a_forward_says(three_kinds: Path):
    found = search()
    tokenizer = tc.load(three_kinds / "en-fr")[1].target
    written = [node for node in found.nodes if found.paths[node.id]]
    assert len(written) > N_NEW
    for node in written:
        *before, token = found.paths[node.id]
        behind = log_probs(three_kinds, tuple(before))
        best = behind.topk(5)
        assert node.log_prob == pytest.approx(float(behind[token]), abs=1e-4)
        assert node.rank == int((behind > behind[token]).sum())
        assert node.position == len(before) + 1
        assert node.label == tokenizer.labels([*before, token])[-1]
        assert [label for label, _ in node.alternatives] == [tokenizer.labels([t])[0] for t in best.indices.tolist()]
        assert [p for _, p in node.alternatives] == pytest.approx(best.values.exp().tolist(), abs=1e-5)
        parent = next(one for one in found.nodes if one.id == node.parent)
        assert found.paths[parent.id] == tuple(before)


@pytest.mark.slow
def test_what_a_search_keeps_drops_and_ends_with_is_that_of_a_naive_one(three_kinds: Path):
    """At each step the 2 k best that are one longer; of those the k best go on, and at the last step all k end."""
    found, alpha = search(penalty=1.0, form="length"), 1.0
    eos_id = tc.load(three_kinds / "en-fr")[0].config.eos_id
    kept: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended: dict[tuple[int, ...], float] = {}
    for length in range(1, N_NEW + 1):
        longer = [
            (total + value, (*path, token))
            for total, path in kept
            for token, value in enumerate(log_probs(three_kinds, path).tolist())
        ]
        considered = sorted(longer, key=lambda one: -one[0])[: 2 * N_BEAMS]
        ends = {path: total for total, path in considered[:N_BEAMS] if path[-1] == eos_id or length == N_NEW}
        kept = [one for one in considered if one[1][-1] != eos_id][:N_BEAMS] if length < N_NEW else []
        ended |= ends
        fates = {path: "ended" if path in ends else "dropped" for _, path in considered} | {
            path: "kept" for _, path in kept
        }
        nodes = {found.paths[node.id]: node for node in found.nodes if len(found.paths[node.id]) == length}
        assert {path: node.kind for path, node in nodes.items()} == fates
        for total, path in considered:
            assert nodes[path].score == pytest.approx(total / length**alpha, abs=1e-4)
    assert {found.paths[node]: total for node, (total, _) in found.ends.items()} == pytest.approx(ended, abs=1e-4)
    for node, (total, score) in found.ends.items():
        assert score == pytest.approx(total / len(found.paths[node]) ** alpha, abs=1e-4)
    assert found.best == max(ended, key=lambda path: ended[path] / len(path) ** alpha)
    assert {found.paths[node.id] for node in found.nodes if node.on_path and node.kind != "given"} == {
        found.best[:n] for n in range(1, len(found.best) + 1)
    }
    assert found.dropped == {node.id for node in found.nodes if node.kind == "dropped"}


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 5.0])
def test_greedy_decoding_takes_the_best_token_each_time_however_the_text_is_sampled(
    temperature: float, three_kinds: Path
):
    tokens, total = search(temperature=temperature).greedy
    by_hand: tuple[int, ...] = ()
    sum_by_hand = 0.0
    eos_id = tc.load(three_kinds / "en-fr")[0].config.eos_id
    while len(by_hand) < N_NEW and eos_id not in by_hand:
        behind = log_probs(three_kinds, by_hand)
        by_hand, sum_by_hand = (*by_hand, int(behind.argmax())), sum_by_hand + float(behind.max())
    assert tokens == by_hand
    assert total == pytest.approx(sum_by_hand, abs=1e-4)


@pytest.mark.slow
def test_ends_are_told_with_their_numbers_and_where_one_looks_is_marked(sent: dict[str, Any], three_kinds: Path):
    app = drawn(beams.show, step=2)
    decode = tc.load(three_kinds / "en-fr")[1].target.decode
    of_ends = {end.id: end for end in sent["ends"]}
    assert of_ends
    found = search()
    for node, (total, score) in found.ends.items():
        end = of_ends[node]
        assert (end.total, end.score, end.n_tokens) == (total, score, len(found.paths[node]))
        assert end.text == (decode(found.paths[node]).strip() or "(empty)")
    at = found.paths[sent["at"]]
    assert at == found.greedy[0][: len(at)] and 0 < len(at) <= 2
    assert "Beam search" in words_of(app)
    drawn(beams.show, step=0)
    assert found.paths[sent["at"]] == ()


def test_beams_of_a_prompt_begin_behind_its_last_token(sent: dict[str, Any]):
    given: list[int] = []

    def draw(data: DecodingData) -> None:
        given.append(len(data.given))
        beams.show(data)

    drawn(draw, model="tales", text=PROMPTS[0], attention="decoder", layer=0, step=0)
    nodes: list[Node] = [*sent["nodes"]]
    assert [node.kind for node in nodes[: given[0]]] == ["given"] * given[0] and given[0] > 1
    assert nodes[given[0]].parent == nodes[given[0] - 1].id == sent["at"]
    assert all(end.n_tokens <= N_NEW for end in sent["ends"])


@pytest.mark.parametrize(("penalty", "used"), [(0.6, 0.6), (2.0, 2.0), (4.5, 2.0)])
def test_a_penalty_beyond_what_can_be_chosen_is_the_largest(penalty: float, used: float):
    found: list[dict[str, Any]] = []

    def draw(data: DecodingData) -> None:
        found.append(beams._arguments(data))
        beams._controls()

    app = drawn(draw, penalty=penalty, form="length")
    arguments = {"n_beams": N_BEAMS, "length_penalty": used, "penalty_form": "length", "max_new_tokens": N_NEW}
    assert found == [arguments]
    assert app.slider(key="decoding-penalty-box").value == used


def test_a_search_writes_no_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beams, "FIRST_LENGTH", {"encoder_decoder": 99, "decoder_only": 99})
    found: list[int] = []
    drawn(lambda data: found.append(beams._arguments(data)["max_new_tokens"]))
    assert found == [32 - 1], "<bos> takes one of its positions"


SEARCH = Search(
    nodes=(),
    ends={8: (-1.5, -1.25), 7: (-2.0, -1.0)},
    paths={5: (), 6: (10,), 7: (10, 11), 8: (10, 12), 9: (13,)},
    dropped=frozenset({9}),
    best=(10, 11),
    greedy=((10, 12), -1.5),
)


def in_words(search: Search, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(beams, "text_of", lambda _, tokens: " ".join(map(str, tokens)))
    nothing: Any = None
    return beams._in_words(nothing, search).replace("\u2068", "").replace("\u2069", "")


def test_the_best_text_is_told_beside_the_greedy_one(monkeypatch: pytest.MonkeyPatch):
    assert in_words(SEARCH, monkeypatch) == (
        "Beam search finds “10 11” (−2.00 nats, score −1.00); greedy decoding finds “10 12” (−1.50 nats)."
    )
    same = Search(**{**vars(SEARCH), "greedy": ((10, 11), -2.0)})
    assert in_words(same, monkeypatch) == (
        "Beam search and greedy decoding both find “10 11” (−2.00 nats, score −1.00)."
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


def test_the_lines_give_what_was_found_and_the_greedy_text(three_kinds: Path):
    found: list[Any] = []
    drawn(lambda data: found.extend(value_of([line.value for line in beams.code(data)])))
    by_page, decode = search(), tc.load(three_kinds / "en-fr")[1].target.decode
    ends = sorted(((total, score) for total, score in by_page.ends.values()), key=lambda one: -(one[1] or 0))[:N_BEAMS]
    texts, (greedy, total) = found
    assert [one[1:] for one in texts] == ends
    assert texts[0][0] == decode(by_page.best)
    assert (greedy, total) == (decode(by_page.greedy[0]), by_page.greedy[1])
