"""What the page Heads shows of a head: each way to look, against the activations, and the lines that give it again."""

import base64
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.heads import figure
from pages.explore.heads.data import HeadsData
from tests.pages.conftest import PROMPTS, component, figure_of, overview_of, url_of, values_of, view_of, words_of
from transformer_core.analysis import ATTENTIONS, run_text
from transformer_core.analysis.heads.picture import HeadPicture, Side

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("checkpoints")]
OpenApp = Callable[..., AppTest]
TEXT = "The cat didn't see the dog."
VIEW = {"text": TEXT, "attention": "encoder", "layer": "1", "head": "2"}


def activations(checkpoints: Any, text: str = TEXT) -> tuple[tc.Activations, int]:
    """What a forward by hand computes, and how many tokens the text has."""
    model, tokenizer = tc.load(checkpoints / "en-fr")
    src = torch.tensor([tokenizer.encode_for(text, "encoder_decoder")])
    tokens = tc.greedy_decode(model, src, max_new_tokens=31).tokens
    with torch.inference_mode(), tc.capture(model, "*") as acts:
        model(src, tokens[:, :-1])
    return acts, src.shape[1]


def drawn(app: AppTest) -> np.ndarray:
    """The numbers of the heatmap; NaN where the mask forbids."""
    assert not app.exception
    (trace,) = (t for t in figure_of(app)["data"] if t["type"] == "heatmap" and t["name"] != "masked")
    return values_of(trace)


def site(acts: tc.Activations, stem: str, layer: int = 1) -> np.ndarray:
    return acts[ATTENTIONS["encoder"].site(layer, stem)][0].numpy()


def test_scores_log_and_weights_by_values(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    pattern, v = site(acts, "hook_pattern")[2], site(acts, "hook_v")[2]
    wanted = {
        "scores": site(acts, "hook_attn_scores")[2],
        "log": np.log10(pattern),
        "values": pattern * np.linalg.norm(v, axis=-1),
        "written": np.stack([np.linalg.norm(p[:, None] * (v @ w_o(checkpoints, 1, 2)), axis=-1) for p in pattern]),
    }
    for quantity, values in wanted.items():
        np.testing.assert_allclose(drawn(open_app("heads", **VIEW, show=quantity)), values, rtol=1e-4, atol=1e-5)


def w_o(checkpoints: Any, layer: int, head: int) -> np.ndarray:
    """The rows of the output projection that belong to a head, [d_head, d_model]."""
    model, _ = tc.load(checkpoints / "en-fr")
    out = model.get_parameter(f"encoder.blocks.{layer}.self_attn.out.weight").detach().numpy()
    d_head = out.shape[1] // 4
    return out[:, head * d_head : (head + 1) * d_head].T


def test_a_mixture_is_the_weighted_mean(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    zero, one = (site(acts, "hook_pattern", layer) for layer in (0, 1))
    np.testing.assert_allclose(
        drawn(open_app("heads", **VIEW, mix="0.1+1.2:0.5")), (zero[1] + 0.5 * one[2]) / 1.5, atol=1e-6
    )
    np.testing.assert_allclose(drawn(open_app("heads", **VIEW, mean="layer")), one.mean(axis=0), atol=1e-6)
    every = drawn(app := open_app("heads", **VIEW, mean="all"))
    np.testing.assert_allclose(every, (zero.mean(axis=0) + one.mean(axis=0)) / 2, atol=1e-6)
    assert "mean over all heads" in figure_of(app)["layout"]["title"]["text"]


def test_each_attention_has_its_own_head_of_one_layer_and_number(open_app: OpenApp, checkpoints):
    """They are drawn one after the other, so that none is kept for another."""
    acts, _ = activations(checkpoints)
    for attention in ("encoder", "decoder", "cross"):
        pattern = acts[ATTENTIONS[attention].site(1, "hook_pattern")][0, 2].numpy()
        shown = drawn(open_app("heads", **VIEW | {"attention": attention}))
        is_drawn = ~np.isnan(shown)
        np.testing.assert_allclose(shown[is_drawn], pattern[is_drawn], atol=1e-6)
        assert np.allclose(pattern[~is_drawn], 0)


def test_hidden_tokens_are_left_out_and_the_rest_may_sum_to_one(open_app: OpenApp, checkpoints):
    acts, n = activations(checkpoints)
    shown = site(acts, "hook_pattern")[2][: n - 1, : n - 1]  # <eos> is the last
    np.testing.assert_allclose(drawn(open_app("heads", **VIEW, hide="special")), shown, atol=1e-6)
    shared = drawn(open_app("heads", **VIEW, hide="special", rest="share"))
    np.testing.assert_allclose(shared, shown / shown.sum(axis=1, keepdims=True), atol=1e-6)


def test_a_window_keeps_the_places_of_the_whole_text(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    app = open_app("heads", **VIEW, window="2-4.1-5", query="3", key="2")
    np.testing.assert_allclose(drawn(app), site(acts, "hook_pattern")[2][2:5, 1:6], atol=1e-6)
    layout = figure_of(app)["layout"]
    assert [layout["xaxis"]["range"], layout["yaxis"]["range"]] == [[0.5, 5.5], [4.5, 1.5]]
    assert json.loads(component(app, "figure").json)["cell"] == {"query": 3, "key": 2}
    assert url_of(app)["window"] == "2-4.1-5"


def test_the_chosen_cell_shows_its_row_and_every_head(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    app = open_app("heads", **VIEW, query="3", key="1")
    row, grid = ({c.proto.id: c.proto for c in app.get("bidi_component")}[name] for name in ids(app, "row", "in-all"))
    bars = json.loads(json.loads(row.json)["figure"])
    heights = next(np.frombuffer(base64.b64decode(t["y"]["bdata"]), t["y"]["dtype"]) for t in bars["data"] if "y" in t)
    np.testing.assert_allclose(heights, site(acts, "hook_pattern")[2][3], atol=1e-6)
    entropy = -(heights * np.log(heights)).sum()
    assert f"entropy {entropy:.2f} nats" in json.dumps(bars["layout"])
    cells = values_of(json.loads(json.loads(grid.json)["figure"])["data"][0])
    by_hand = np.stack([site(acts, "hook_pattern", layer)[:, 3, 1] for layer in (0, 1)])
    np.testing.assert_allclose(cells, by_hand, atol=1e-6)


def ids(app: AppTest, *keys: str) -> list[str]:
    """The identifiers of the page's figures with these keys."""
    found = [c.proto.id for c in app.get("bidi_component")]
    return [next(i for i in found if i.endswith(f"heads-{key}")) for key in keys]


def test_a_measure_marks_and_orders_the_heads(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    header, _ = overview_of(open_app("heads", **VIEW, measure="entropy", order="descending"))
    assert header["order"] == "descending"
    pattern = site(acts, "hook_pattern")
    entropy = -(pattern * np.log(pattern)).sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(header["measure"]["values"]["encoder"][1], entropy, rtol=1e-5)


@pytest.mark.parametrize(
    ("changed", "what"),
    [({}, "of this head"), ({"mean": "all"}, "shown"), ({"window": "1-4.0-3"}, "shown")],
)
def test_the_maximum_weight_is_that_of_what_is_shown(
    open_app: OpenApp, checkpoints, changed: dict[str, str], what: str
):
    app = open_app("heads", **VIEW | changed)
    cells = drawn(app)
    assert f"Maximum weight {what}:</b>" in words_of(app)
    assert f"{np.nanmax(cells):.2f}</p>" in words_of(app)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rollout", "flow"])
def test_attention_across_the_layers(open_app: OpenApp, checkpoints, method: str):
    acts, n = activations(checkpoints)
    app = open_app("heads", **VIEW, across=method)
    assert not app.exception
    figures = [
        json.loads(json.loads(c.proto.json)["figure"]) for c in app.get("bidi_component") if "across" in c.proto.id
    ]
    assert len(figures) == 3
    if method == "rollout":
        eye = np.eye(n)
        zero, one = ((site(acts, "hook_pattern", layer).mean(axis=0) + eye) / 2 for layer in (0, 1))
        np.testing.assert_allclose(values_of(figures[0]["data"][0]), one @ zero, atol=1e-6)
    assert "Assumptions" in words_of(app)


VIEWS: tuple[dict[str, str], ...] = (
    {},
    {"attention": "decoder", "layer": "0"},
    {"show": "scores"},
    {"unit": "word", "hide": "special", "rest": "share"},
    {"mix": "0.1+1.2:0.5", "window": "1-4.0-3"},
    {"show": "written", "mean": "all"},
    {"query": "3", "key": "1"},
)


def looks_alike(again: Any, sent: dict[str, Any]) -> None:
    """A figure that was drawn again has the title, the names of the axes and the marks of the one on the page."""
    layout, seen = (json.loads(figure)["layout"] for figure in (again.to_json(), sent["figure"]))
    for axis in ("xaxis", "yaxis"):
        assert layout[axis].get("title") == seen[axis].get("title")
    assert layout["title"]["text"] == seen["title"]["text"]
    assert layout.get("shapes") == seen.get("shapes")
    assert sent["about"].startswith(("English to French: ", "Tales: "))


@pytest.mark.slow
@pytest.mark.parametrize("changed", VIEWS, ids=str)
def test_what_is_taken_away_holds_the_numbers_and_the_lines_that_give_them(
    open_app: OpenApp, changed: dict[str, str], tmp_path, monkeypatch, capsys
):
    app = open_app("heads", **VIEW | changed)
    shown = drawn(app)
    seen = view_of(app)
    app.session_state["heatmap"] = {"open": 1}  # the menu was opened
    app.query_params["head"] = str(1 - int(seen["head"]))  # by a browser that has not taken in the address yet
    app.run()
    files = {name: base64.b64decode(text) for name, text in json.loads(component(app, "figure").json)["files"].items()}
    csv, npz = (next(content for name, content in files.items() if name.endswith(end)) for end in (".csv", ".npz"))
    with np.load(io.BytesIO(npz)) as arrays:
        values, mask = arrays["pattern"], arrays["mask"]
        assert (len(arrays["query_tokens"]), len(arrays["key_tokens"])) == values.shape
    if changed.get("show") != "scores":
        np.testing.assert_allclose(values[mask], shown[mask], atol=1e-7)
    assert csv.decode().count("\n") == 1 + values.size
    state = json.loads(files["state.json"])
    assert (
        state["view"] == view_of(app) == seen and len(state["model"]["sha256"]) == 64 and "torch" in state["versions"]
    )
    monkeypatch.chdir(tmp_path)
    again: dict[str, Any] = {}
    exec(compile(files["redraw.py"], "redraw.py", "exec"), again)
    np.testing.assert_allclose(again["shown"].values, values, atol=1e-6)
    looks_alike(again["figure"], json.loads(component(app, "figure").json))
    assert next(tmp_path.glob("*.html")).read_text(encoding="utf-8").count("Plotly.newPlot") >= 1


@pytest.mark.slow
def test_a_continued_text_is_divided_from_its_continuation_when_it_is_drawn_again(
    open_app: OpenApp, three_kinds_here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    app = open_app("heads", model="tales")
    app.session_state["heatmap"] = {"open": 1}
    app.run()
    sent = json.loads(component(app, "figure").json)
    monkeypatch.chdir(tmp_path)
    again: dict[str, Any] = {}
    exec(compile(base64.b64decode(sent["files"]["redraw.py"]), "redraw.py", "exec"), again)
    looks_alike(again["figure"], sent)
    assert json.loads(sent["figure"])["layout"]["shapes"]


@pytest.mark.slow
@pytest.mark.parametrize("key, number", [("row", "shown"), ("in-all", "weights"), ("across-target-source", "parts")])
def test_every_other_figure_can_be_taken_away_too(open_app: OpenApp, key: str, number: str, tmp_path, monkeypatch):
    view = {**VIEW, "query": "3", "key": "1", "across": "rollout"}
    app = open_app("heads", **view)
    app.session_state[f"heads-{key}"] = {"open": 1}
    app.run()
    assert not app.exception
    (sent,) = (json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.id.endswith(f"heads-{key}"))
    files = {name.rpartition(".")[2]: base64.b64decode(text) for name, text in sent["files"].items()}
    assert files.keys() == {"csv", "npz", "py", "json"}
    with np.load(io.BytesIO(files["npz"])) as arrays:
        values = next(iter(arrays.values()))
    monkeypatch.chdir(tmp_path)
    again: dict[str, Any] = {}
    exec(compile(files["py"], "redraw.py", "exec"), again)
    made = again[number]
    part = (
        next(part for part in made if (part.of, part.side) == ("target", "source"))
        if key.startswith("across")
        else made
    )
    computed = getattr(part, "values", part)
    np.testing.assert_allclose(computed.squeeze(), values.squeeze(), atol=1e-6)
    looks_alike(again["figure"], sent)
    lines = files["csv"].decode().splitlines()
    assert len(lines) == 1 + values.size
    np.testing.assert_allclose([float(line.rsplit(",", 1)[1]) for line in lines[1:]], values.ravel(), atol=1e-6)


def test_what_the_address_asks_for_wrongly_is_one_sentence_each(open_app: OpenApp):
    app = open_app("heads", show="love", window="a-b", query="-1", mix="1.1:x", hide="me")
    assert not app.exception
    for asked in ("show “love”", "window “a-b”", "query “-1”", "mix “1.1:x”", "hide “me”"):
        assert f"The address asks for {asked}" in words_of(app).replace("&#39;", "'")
    app = open_app("heads", mix="9.9+8.8", window="900-999.0-3", query="900")
    assert not app.exception
    assert not {"mix", "window", "query"} & url_of(app).keys()


def test_everything_hidden_is_a_calm_sentence(open_app: OpenApp):
    n = int(np.array(overview_of(open_app("heads", **VIEW))[0]["groups"][0]["keys"]))
    app = open_app("heads", **VIEW, hide="special", window=f"{n - 1}-{n - 1}.{n - 1}-{n - 1}")
    assert not app.exception
    assert "All tokens in this range are excluded" in words_of(app)


def test_a_long_text_stands_in_the_address_packed(open_app: OpenApp):
    text = " ".join(["The cat sees the dog."] * 60)
    app = open_app("heads")
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    link = url_of(app)
    assert "text" not in link and len(link["packed"]) < 200
    assert open_app("heads", **link).text_input(key="text").value == text
    assert "damaged" in words_of(open_app("heads", packed="%%%"))


def preview(app: AppTest) -> dict[str, Any] | None:
    """What the figure has to draw another head with."""
    found: dict[str, Any] | None = json.loads(component(app, "figure").json)["preview"]
    return found


def test_another_head_can_be_drawn_at_once_where_one_pattern_is_shown(open_app: OpenApp):
    shown = preview(open_app("heads", **VIEW))
    assert shown is not None
    assert (shown["attention"], shown["layer"], shown["head"], shown["name"]) == ("encoder", 1, 2, "attention")
    assert {*shown["frames"]} == {"encoder", "decoder", "cross"}
    title = shown["frames"]["decoder"]["layout"]["title"]["text"]
    assert title == "Attention pattern: decoder self-attention L{layer}.H{head}"
    for changed in ({"show": "scores"}, {"unit": "word"}, {"mix": "0.1+1.2"}, {"hide": "special"}, {"mean": "all"}):
        assert preview(open_app("heads", **VIEW, **changed)) is None


def drawn_lines(app: AppTest) -> tuple[dict[str, Any], np.ndarray]:
    """What is said of the lines, and their weights, [head, query, key]; NaN where the mask forbids."""
    assert not app.exception
    data = component(app, "lines").bytes
    (length,) = struct.unpack("<I", data[:4])
    header = json.loads(data[4 : 4 + length])
    levels = np.frombuffer(data[4 + length :], dtype="<u2").astype(np.float64)
    shape = len(header["names"]), len(header["query"]), len(header["key"])
    return header, np.where(levels == 65_535, np.nan, levels / 65_534).reshape(shape)


def test_lines_of_a_window_keep_their_places_in_the_whole_text(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    app = open_app("heads", **VIEW, window="2-4.1-5", query="4", key="2", show="values", **{"as": "lines"})
    header, weights = drawn_lines(app)
    np.testing.assert_allclose(weights, site(acts, "hook_pattern")[2:3, 2:5, 1:6], atol=1e-4)  # lines are of weights
    assert header["first"] == {"query": 2, "key": 1}
    assert header["chosen"]["value"] == {"query": 2, "key": 1}, "among those that are drawn"
    assert header["names"] == ["encoder self-attention L1.H2"]
    assert "Attention as lines: encoder self-attention L1.H2" in words_of(app)


def test_lines_of_heads_that_are_combined_are_of_each_and_of_a_mean_are_one(open_app: OpenApp, checkpoints):
    acts, _ = activations(checkpoints)
    zero, one = (site(acts, "hook_pattern", layer) for layer in (0, 1))
    app = open_app("heads", **VIEW, mix="0.1+1.2:0.5", **{"as": "lines"})
    header, weights = drawn_lines(app)
    np.testing.assert_allclose(weights, [zero[1], one[2]], atol=1e-4)
    assert header["names"] == ["L0.H1", "L1.H2"] and len({*header["hues"]}) == 2
    assert header["chosen"]["value"] == {"query": None, "key": None}
    assert "heads L0.H1, L1.H2" in words_of(app)
    header, weights = drawn_lines(open_app("heads", **VIEW, mean="layer", **{"as": "lines"}))
    np.testing.assert_allclose(weights, [one.mean(axis=0)], atol=1e-4)
    assert header["names"] == ["encoder self-attention L1, mean over heads"] and len(header["hues"]) == 1


def test_lines_tell_what_a_model_wrote_itself_and_what_it_may_not_see(open_app: OpenApp, three_kinds_here: Path):
    model, tokenizer = tc.load(three_kinds_here / "tales")
    n_given = len(tokenizer.encode_for(PROMPTS[1], "decoder_only"))
    header, weights = drawn_lines(open_app("heads", model="tales", text=PROMPTS[1], **{"as": "lines"}))
    n = weights.shape[1]
    np.testing.assert_array_equal(np.isnan(weights[0]), ~np.tri(n, dtype=bool))
    assert header["generatedFrom"] == n_given < n <= model.config.max_seq_len
    header, _ = drawn_lines(open_app("heads", model="tales", text=PROMPTS[1], window="1-2.0-1", **{"as": "lines"}))
    assert header["generatedFrom"] is None, "it is beyond the window"


def test_what_a_model_wrote_itself_begins_nowhere_where_it_wrote_nothing(three_kinds_here: Path):
    loaded = tc.load(three_kinds_here / "tales")
    for n_new in (3, 0):
        model_run = run_text(*loaded, PROMPTS[0], max_new_tokens=n_new)
        nothing: Any = None
        data = HeadsData(card=nothing, view=nothing, source=nothing, model_run=model_run, spec=nothing)
        assert data.generated_from == (model_run.n_given if n_new else None)


def test_lines_of_a_text_that_is_too_long_for_them_give_way_to_the_heatmap(
    open_app: OpenApp, checkpoints, monkeypatch: pytest.MonkeyPatch
):
    n = activations(checkpoints)[1]
    for most, has_lines in ((n, True), (n - 1, False)):
        monkeypatch.setattr(figure, "MOST_LINES", most)
        app = open_app("heads", **VIEW, **{"as": "lines"})
        drawn_as = {c.proto.component_name.split(".")[1] for c in app.get("bidi_component")}
        assert ("lines" in drawn_as) == has_lines
        assert (f"The line view is limited to {most} tokens" in words_of(app)) == (not has_lines)


def test_in_an_overview_rows_and_columns_are_called_by_the_places_that_they_stand_for():
    sides = [
        Side(labels=tuple("x" * n), tokens=tuple(range(i, i + 1) for i in range(first, first + n)), first=first)
        for n, first in ((12, 7), (10, 0))
    ]
    cells = np.ones((5, 3))
    shown = HeadPicture(values=cells, mask=cells > 0, queries=sides[0], keys=sides[1], blocks=(5, 3), largest=None)
    assert figure._units(shown, "queries") == ["7 to 8", "9 to 10", "11 to 13", "14 to 15", "16 to 18"]
    assert figure._units(shown, "keys") == ["0 to 2", "3 to 5", "6 to 9"]
