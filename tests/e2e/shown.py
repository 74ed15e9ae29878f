"""Whether figures say what the model says: every number that a page draws is held to a capture of our own."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Page

from tests.e2e.captured import MODULES, captured, loaded
from tests.e2e.looking import view_of

_SHOWN = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
LINE = 14  # px: with so much room for each, every token has its label; only where there is less some may be left out
MOST_IN_MASKS = 48  # tokens that the page Masks reads on each side
ISOLATES = dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069"))

Shown = Mapping[str, Any]
Faults = Iterator[str]


def shown_on(page: Page) -> Shown:
    """Return what the figures of a page hold."""
    found: Shown = json.loads(page.evaluate(_SHOWN))  # Playwright itself takes a second for so many numbers
    return found


def wrong(page: Page, model: str) -> tuple[set[str], list[str]]:
    """Return which figures were held to a capture, and in words what is wrong with them.

    The text and the head are those of the address.
    """
    shown, view = shown_on(page), view_of(page)
    checked: set[str] = set()
    found = [*missing_labels(shown)]
    for name, check in CHECKS.items():
        of_figure = shown["figures"].get(name) or shown.get(name)
        if not of_figure:
            continue
        checked.add(name)
        try:
            found += [f"{name}: {fault}" for fault in check(of_figure, shown, view, model)]
        except (LookupError, ValueError) as error:
            found.append(f"{name} cannot be read: {error!r}")
    return checked, found


def missing_labels(shown: Shown) -> Faults:
    """Tell each axis of tokens that lacks a label for which there is room."""
    for name, figure in shown["figures"].items():
        for axis in figure["axes"]:
            first, last = sorted(axis["range"])
            on_it = [trace for trace in figure["traces"] if axis["id"] in trace.get("axes", ())]
            maps = [trace["z"] for trace in on_it if trace["type"] == "heatmap"]
            n_drawn = max((len(z[0]) if axis["name"].startswith("x") else len(z) for z in maps), default=10**6)
            n, labels = min(round(last - first), n_drawn), axis["labels"]  # where a text is written, some are to come
            is_of_tokens = abs(first % 1 - 0.5) < 1e-6 and not all(label.isdecimal() for label in labels)
            if is_of_tokens and labels and axis["pitch"] >= LINE and len(labels) < n:
                yield f"{name}, {axis['name']}: {len(labels)} of {n} labels, {axis['pitch']:.1f} px for each"


def labels_apart(shown: Sequence[str], true: Sequence[str], what: str) -> Faults:
    """Tell a label that is another one than the token's; a long one may end in an ellipsis.

    Where a model reads small letters alone, its tokens are called as in the text.
    """
    if len(shown) != len(true):
        yield f"{len(shown)} {what} for {len(true)} tokens"
    for place, (label, token) in enumerate(zip(shown, true, strict=False)):
        label, token = (words.translate(ISOLATES).strip().casefold() for words in (label, token))
        if token == "<unk>":
            label = label.partition(" ")[0]  # behind it stands the word that the model does not know
        if label != token and not (label.endswith("…") and token.startswith(label[:-1])):
            yield f"{what} {place} is “{label}”, the token “{token}”"
            return


def apart(shown: Any, true: np.ndarray, what: str, within: float = 1e-4) -> Faults:
    """Tell how far numbers are from the true ones; None and NaN stand for what the mask forbids, which has weight 0."""
    drawn = _array(shown)
    if drawn.shape != true.shape:
        yield f"{what} has the shape {drawn.shape} in place of {true.shape}"
        return
    far = np.abs(np.nan_to_num(drawn, neginf=-1e30) - np.nan_to_num(true, neginf=-1e30))
    largest = float((far / np.maximum(1, np.abs(np.nan_to_num(true, neginf=-1e30)))).max(initial=0))
    if largest > within:
        yield f"{what} is wrong by {largest:.2g}"


def axis_labels(figure: Shown, axis: str) -> tuple[list[int], list[str]]:
    """Return the places of an axis that have a label, and the labels; of a numbered one all, as its legend has them."""
    found = next(one for one in figure["axes"] if one["name"] == axis)
    places, labels = [round(place) for place in found["places"]], found["labels"]
    if found["legend"] is None:
        return places, labels
    names = {round(place): html.unescape(str(name)) for place, name in found["legend"]}
    assert all(label.split()[0] == str(place) for place, label in zip(places, labels, strict=True))
    return [*names], [*names.values()]


def map_labels(figure: Shown, queries: Sequence[str], keys: Sequence[str]) -> Faults:
    """Tell the labels of a map that are not those of its tokens."""
    for axis, tokens, what in (("yaxis", queries, "query labels"), ("xaxis", keys, "key labels")):
        places, labels = axis_labels(figure, axis)
        yield from labels_apart(labels, [tokens[place] for place in places], what)


def cells_of(figure: Shown, place: int = -1) -> Any:
    """Return the numbers of a heatmap: behind them lies what the mask forbids."""
    return [trace["z"] for trace in figure["traces"] if trace["type"] == "heatmap"][place]


def of_heads(figure: Shown, shown: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The large map of the page Heads."""
    if not {"pattern", "muster"} & {*re.findall(r"[a-z]+", figure["title"].lower())}:
        return  # another quantity than the pattern
    true, attention = captured(model, view["text"]), view["attention"]
    pattern = true.head(attention, int(view["layer"]), int(view["head"]))
    n = len(cells_of(figure))
    pattern = pattern[:n] if attention == "cross" else pattern[:n, :n]
    yield from apart(cells_of(figure), pattern, "the map")
    yield from map_labels(figure, *true.sides(attention))
    for name, axis in (("query", "yaxis"), ("key", "xaxis")):
        if name in view and int(view[name]) not in axis_labels(figure, axis)[0]:
            yield f"the chosen {name} {view[name]} has no label"


def of_steps(steps: Shown, _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Attention step by step: what flows through the figure, and each number that is written below it."""
    true, attention, layer, head = (
        captured(model, view["text"]),
        view["attention"],
        int(view["layer"]),
        int(view["head"]),
    )
    n_queries, n_keys = len(steps["queries"]), len(steps["keys"])
    first_query, first_key = steps["first"]["query"], steps["first"]["key"]
    rows, columns = slice(first_query, first_query + n_queries), slice(first_key, first_key + n_keys)
    queries, keys = (side[part] for side, part in zip(true.sides(attention), (rows, columns), strict=True))
    yield from labels_apart(steps["queries"], queries, "chips of queries")
    yield from labels_apart(steps["keys"], keys, "labels of keys")
    yield from labels_apart(steps["chosen"], (queries[steps["query"]], keys[steps["key"]]), "chosen labels")
    yield from labels_apart(steps["asking"], (queries[steps["query"]],), "labels of the asking query")
    q, k, v, mask, scores, pattern, z = (
        true.head(attention, layer, head, stem) for stem in ("q", "k", "v", "mask", "attn_scores", "pattern", "z")
    )
    product = q[rows] @ k[columns].T
    module = MODULES[attention].format(layer=layer)
    block = module.rpartition(".")[0]
    own: dict[str, np.ndarray] = {
        "q": q[rows],
        "k": k[columns],
        "v": v[columns],
        "product": product,
        "scaled": product / np.sqrt(q.shape[1]),
        "mask": mask[rows, columns],
        "attn_scores": scores[rows, columns],
        "pattern": pattern[rows, columns],
        "z": z[rows],
        "concat": np.concatenate([*true.sites[f"{module}.hook_z"][:, rows]], axis=1),
        "elementwise": q[first_query + steps["query"]] * k[columns],
        "weighted": pattern[first_query + steps["query"], columns, None] * v[columns],
    }
    whole = {"attn_out": f"{module}.hook_attn_out", "mlp_out": f"{block}.hook_mlp_out"}
    whole |= {"mlp_pre": f"{block}.mlp.hook_pre", "mlp_post": f"{block}.mlp.hook_post"}
    if attention != "cross":
        whole |= {"x": f"{block}.hook_resid_pre"}
    if loaded(model)[0].config.norm_position == "pre":
        norm = "ln_cross" if attention == "cross" else "ln1"
        whole |= {"x_normalized": f"{block}.{norm}.hook_normalized", "resid_post": f"{block}.hook_resid_post"}
    else:
        whole |= {"out": f"{block}.ln2.hook_normalized"}
    own |= {name: true.sites[site][rows] for name, site in whole.items() if site in true.sites}
    for name, numbers in own.items():
        if name in steps["quantities"]:
            yield from apart(steps["quantities"][name], numbers, name)
    n_checked = 0
    for number in steps["written"]:
        if number["name"] not in own:
            continue
        n_checked += 1
        value = float(own[number["name"]][int(number["row"]), int(number["column"])])
        if not is_written(number["text"], value):
            yield f"{number} is written, the model has {value:.6g}"
            return
    if n_checked < 100:
        yield f"only {n_checked} numbers are written below the figure"


def is_written(text: str, value: float) -> bool:
    """Whether a text is this number, rounded to the digits that it shows."""
    number = float(text.replace("−", "-").replace("∞", "inf").replace("<", "").replace(">", ""))
    if not np.isfinite(number):
        return number == value
    return abs(number - value) <= half_digit(text) + 1e-5 * max(1.0, abs(value))


def half_digit(text: str) -> float:
    """Return by how much a written number may be rounded: half of its last digit."""
    mantissa, _, exponent = text.replace("−", "-").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(0.5 * 10.0 ** (int(exponent or 0) - decimals))


def of_masks(masks: Shown, _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Masks: scores and pattern of the chosen head under the model's own masks."""
    n_padding = max(len(masks[side]) - n for side, n in zip(("queries", "keys"), masks["real"], strict=True))
    true = captured(model, view["text"], MOST_IN_MASKS - n_padding)
    attention, layer, head = view["attention"], int(view["layer"]), int(view["head"])
    n_queries, n_keys = masks["real"]
    sides = true.sides(attention)
    if n_queries > len(sides[0]) or n_keys > len(sides[1]) or (attention != "decoder" and n_keys != len(sides[1])):
        yield f"{n_queries} queries and {n_keys} keys for {len(sides[0])} and {len(sides[1])} tokens"
        return
    for picture in masks["pictures"]:
        n = len(masks["queries"]) + len(masks["keys"])
        if picture["pitch"] >= LINE and picture["labels"] not in (None, n):  # None: nobody looked at the canvas
            yield f"{picture['labels']} of {n} labels beside the {picture['name']}, {picture['pitch']} px for each"
    yield from labels_apart(masks["queries"][:n_queries], sides[0][:n_queries], "query labels")
    yield from labels_apart(masks["keys"][:n_keys], sides[1][:n_keys], "key labels")
    allowed = true.head(attention, layer, head, "mask")[:n_queries, :n_keys]
    for name, stem in (("pattern", "pattern"), ("scores", "attn_scores")):
        values = _array(masks[name])[:n_queries, :n_keys]
        numbers = true.head(attention, layer, head, stem)[:n_queries, :n_keys]
        yield from apart(np.where(allowed, values, 0), np.where(allowed, numbers, 0), name)


def of_inference(rows: Sequence[Sequence[str]], _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The table of the page Masks that holds a pass over all tokens to one step for each."""
    if view.get("part") != "inference":
        return  # a table of something else
    true = captured(model, view["text"], MOST_IN_MASKS)
    probabilities = softmax(true.logits)
    labels = loaded(model)[1].target.labels
    yield from labels_apart([row[1] for row in rows], true.labels["target"][: len(rows)], "rows")
    best = probabilities.argmax(axis=1)[: len(rows)].tolist()
    yield from labels_apart([row[2] for row in rows], [labels([token])[0] for token in best], "predictions")
    for column in (3, 4):
        for row, token in zip(rows, best, strict=True):
            if not is_written(row[column], float(probabilities[int(row[0]), token])):
                yield f"row {row} for {probabilities[int(row[0]), token]:.6f}"


def of_rows(attention: str) -> Callable[[Shown, Shown, Mapping[str, str], str], Faults]:
    """The page Decoding: where each head of a layer, and their mean, look from the token that was written last."""

    def check(figure: Shown, shown: Shown, view: Mapping[str, str], model: str) -> Faults:
        true, at = captured(model, view["text"]), shown["writing"]["at"]
        layer, n_keys = int(view["layer"]), at if attention == "decoder" else len(true.source)
        heads = true.sites[f"{MODULES[attention].format(layer=layer)}.hook_pattern"][:, at - 1, :n_keys]
        yield from apart(cells_of(figure), np.vstack([heads, heads.mean(axis=0)]), "the rows")
        keys = true.sides(attention)[1]
        places, labels = axis_labels(figure, "xaxis")
        yield from labels_apart(labels, [keys[place] for place in places[: len(labels)]], "key labels")

    return check


def of_alignment(figure: Shown, shown: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Decoding: the rows of cross-attention as far as the text is written."""
    true = captured(model, view["text"])
    layer, *head = map(int, re.findall(r"\d+", figure["title"]))
    pattern = true.sites[f"{MODULES['cross'].format(layer=layer)}.hook_pattern"]
    pattern = pattern[head[0]] if head else pattern.mean(axis=0)
    yield from apart(cells_of(figure), pattern[: len(cells_of(figure))], "the alignment")
    places, labels = axis_labels(figure, "xaxis")
    yield from labels_apart(labels, [true.labels["source"][place] for place in places], "source labels")


def of_writing(writing: Shown, _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Decoding: the tokens of source and output, among them the one that was written last."""
    true = captured(model, view["text"])
    yield from labels_apart(writing["source"], true.labels["source"], "chips of the source")
    n = min(len(writing["output"]), len(true.target))
    if n < writing["at"]:
        yield f"{n} chips where {writing['at']} tokens are read"
    yield from labels_apart(writing["output"][:n], true.labels["target"][:n], "chips of the output")
    yield from labels_apart(
        writing["current"], true.labels["target"][writing["at"] - 1 : writing["at"]], "current chips"
    )


def of_candidates(rows: Sequence[Shown], shown: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Decoding: what may come next, with its probability."""
    true = captured(model, view["text"])
    probabilities = softmax(true.logits[shown["writing"]["at"] - 1][None])[0]
    best = np.argsort(-probabilities, kind="stable")[: len(rows)]
    labels = loaded(model)[1].target.labels
    for row, token in zip(rows, best.tolist(), strict=True):
        value = float(probabilities[row["token"]])
        if abs(value - float(probabilities[token])) > 1e-6:
            yield f"{row} stands where {labels([token])[0]} should"
        yield from labels_apart([row["label"]], labels([row["token"]]), "labels")
        text = row["own"]
        if not (value < 0.005 if "<" in text else value >= 0.995 if ">" in text else is_written(text, value)):
            yield f"{row} for {value:.6f}"


def of_blanks(figure: Shown, _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Decoding of a masked model: what may stand in each blank before any is filled."""
    true, mask = captured(model, view["text"]), loaded(model)[1].mask_id
    probabilities = softmax(true.logits)
    blanks = [place for place, token in enumerate(true.source) if token == mask]
    bars = [trace for trace in figure["traces"] if trace["type"] == "bar"]
    for place, trace in zip(blanks, bars, strict=True):
        best = np.sort(probabilities[place])[::-1][: len(trace["x"])]
        yield from apart(trace["x"], best, f"blank {place}")


def of_comparison(side: str) -> Callable[[Shown, Shown, Mapping[str, str], str], Faults]:
    """The page Compare: A, B, and B - A on the tokens that both texts have."""

    def check(figure: Shown, shown: Shown, view: Mapping[str, str], model: str) -> Faults:
        both = [captured(model, text) for text in (view["text"], shown["text_of_b"] or view["text"])]
        heads = [_head_in(shown["figures"][f"compare-{letter}"]["title"]) for letter in "AB"]
        sides = [true.sides(head[0]) for true, head in zip(both, heads, strict=True)]
        if not both[0].source:  # prompts alone; of one text what is written is the same, too, as far as it is drawn
            ends = [len(cells_of(figure)) if both[0] is both[1] else true.n_given for true in both]
            sides = [(queries[:end], keys[:end]) for (queries, keys), end in zip(sides, ends, strict=True)]
        (rows_of, _), (columns_of, alone) = (_paired(*of_both) for of_both in zip(*sides, strict=True))
        maps, names = [], []
        for i, (true, head, own) in enumerate(zip(both, heads, sides, strict=True)):
            rows, columns = ([pair[i] for pair in pairs] for pairs in (rows_of, columns_of))
            pattern = true.head(*head)[rows]
            elsewhere = [pattern[:, alone[i]].sum(axis=1)] if any(alone) else []
            maps.append(np.column_stack([pattern[:, columns], *elsewhere]))
            names.append(([own[0][row] for row in rows], [*(own[1][column] for column in columns), "elsewhere"]))
        drawn = {"A": maps[0], "B": maps[1], "difference": maps[1] - maps[0]}[side]
        yield from apart(cells_of(figure), drawn, "the map")
        if side != "difference":
            yield from map_labels(figure, *names["AB".index(side)])
        row, column = map(int, view.get("cell", "0.0").split("."))
        if row < drawn.shape[0] and column < drawn.shape[1]:  # that of an earlier text may lie beyond this one
            for axis, place in (("yaxis", row), ("xaxis", column)):
                if "cell" in view and place not in axis_labels(figure, axis)[0]:
                    yield f"the chosen place {place} of the {axis} has no label"

    return check


def of_one_side(side: str) -> Callable[[Shown, Shown, Mapping[str, str], str], Faults]:
    """The page Compare, where the tokens of A and B cannot be paired: each head over its own."""

    def check(figure: Shown, shown: Shown, view: Mapping[str, str], model: str) -> Faults:
        true = captured(model, view["text"] if side == "A" else shown["text_of_b"] or view["text"])
        head = _head_in(figure["title"])
        n_queries, n_keys = len(cells_of(figure)), len(cells_of(figure)[0])
        yield from apart(cells_of(figure), true.head(*head)[:n_queries, :n_keys], "the map")
        yield from map_labels(figure, *true.sides(head[0]))

    return check


def _head_in(title: str) -> tuple[str, int, int]:
    """Read a head from a title such as "A: encoder self-attention L1.H2"."""
    attention = next(name for name in MODULES if name in title.lower())
    layer, head = map(int, re.findall(r"\d+", title)[-2:])
    return attention, layer, head


def _paired(a: Sequence[str], b: Sequence[str]) -> tuple[list[tuple[int, int]], tuple[list[int], list[int]]]:
    """Return the places of two texts that stand for each other, and those of each without a partner."""
    pairs: list[tuple[int, int]] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for _, start_a, end_a, start_b, end_b in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if end_a - start_a == end_b - start_b:
            pairs += zip(range(start_a, end_a), range(start_b, end_b), strict=True)
        else:
            alone[0].extend(range(start_a, end_a))
            alone[1].extend(range(start_b, end_b))
    return pairs, alone


def of_table(figure: Shown, _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Positions: a table of sines and cosines, or of what the model learned."""
    drawn, encoding = _array(cells_of(figure)), view.get("encoding", "sinusoidal_halves")
    if encoding == "learned":
        stack = loaded(model)[0].decoder or loaded(model)[0].encoder
        true = stack.pos_embed.table.detach().numpy()[: len(drawn)]
    elif encoding.startswith("sinusoidal"):
        width = drawn.shape[1]
        angles = np.arange(len(drawn))[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
        both = np.sin(angles), np.cos(angles)
        true = np.hstack(both) if encoding.endswith("halves") else np.stack(both, axis=2).reshape(len(drawn), width)
    else:
        return
    yield from apart(drawn, true, "the table")


def of_parts(figure: Shown, _: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Positions: the parts of a head's scores add up to the scores that the model has."""
    true, attention = captured(model, view["text"]), view["attention"]
    maps = [_array(trace["z"]) for trace in figure["traces"] if trace["type"] == "heatmap" and trace["name"]]
    *parts, total = maps
    allowed, scores = (
        true.head(attention, int(view["layer"]), int(view["head"]), stem)[: total.shape[0], : total.shape[1]]
        for stem in ("mask", "attn_scores")
    )
    yield from apart(total, np.where(allowed, scores, 0), "the sum", 1e-3)
    yield from apart(np.sum([np.nan_to_num(part) for part in parts], axis=0), np.where(allowed, scores, 0), "all", 1e-3)


def of_activation(figure: Shown, shown: Shown, view: Mapping[str, str], model: str) -> Faults:
    """The page Architecture: what passed a hook point, and its statistics over the whole tensor."""
    true = captured(model, view["text"])
    hook = shown["captured"].rpartition(" ")[2]
    near = (shown["module"], shown["module"].partition(".")[0], "")  # an embedding has its hook point beside it
    found = ([site for site in true.sites if f".{site}".endswith(f".{hook}") and site.startswith(of)] for of in near)
    sites = next(filter(None, found), [])
    if not sites:
        yield f"there is no hook point {shown['module']} {hook}"
        return
    values = true.sites[sites[0]]
    n_rows = round(abs(np.subtract(*next(axis for axis in figure["axes"] if axis["name"] == "yaxis")["range"])))
    if values.ndim == 3:
        values = values[min(int(view["head"]), len(values) - 1)]
    is_square = hook in ("hook_pattern", "hook_attn_scores", "hook_mask") and "cross" not in sites[0]
    values = values[:n_rows, :n_rows] if is_square else values[:n_rows]
    drawn = _array(cells_of(figure))
    if drawn.shape == values.shape:
        yield from apart(drawn, np.where(np.isfinite(values), values, np.nan), "the figure", 1e-3)
    finite = values[np.isfinite(values)].astype(np.float64)
    if hook == "hook_pattern":
        mask = true.sites[sites[0].replace("hook_pattern", "hook_mask")]
        mask = mask[min(int(view["head"]), len(mask) - 1)][: values.shape[0], : values.shape[1]]
        finite = values[mask > 0].astype(np.float64)
    facts = [finite.size, finite.mean(), finite.std(), (finite == 0).mean()]
    for text, fact in zip(shown["facts"], facts, strict=True):
        written = re.findall(r"−?-?[\d.,\u202f]+(?:e[−-]?\d+)?%?", text)[-1].translate({ord(","): None, 0x202F: None})
        share, text = written.endswith("%"), written.removesuffix("%")
        number = float(text.replace("−", "-")) / (100 if share else 1)
        if abs(number - fact) > half_digit(text) / (100 if share else 1) + 1e-4 * abs(fact) + 1e-6:
            yield f"“{text}” for {fact:.6g}"


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities over the last axis."""
    return torch.from_numpy(logits).double().softmax(dim=-1).numpy()


def _array(numbers: Any) -> np.ndarray:
    if isinstance(numbers, np.ndarray):
        return numbers
    nested = [[np.nan if one is None else one for one in row] if isinstance(row, list) else row for row in numbers]
    return np.array(nested, dtype=float)


CHECKS: Mapping[str, Callable[[Any, Shown, Mapping[str, str], str], Faults]] = {  # by the keys of figures and parts
    "heatmap": of_heads,
    "steps": of_steps,
    "masks": of_masks,
    "steps_of_decoding": of_inference,
    "decoding-rows-cross": of_rows("cross"),
    "decoding-rows-decoder": of_rows("decoder"),
    "decoding-alignment": of_alignment,
    "writing": of_writing,
    "candidates": of_candidates,
    "blanks-bars": of_blanks,
    "compare-A": of_comparison("A"),
    "compare-B": of_comparison("B"),
    "compare-difference": of_comparison("difference"),
    "compare-own-A": of_one_side("A"),
    "compare-own-B": of_one_side("B"),
    "positions-figure-table": of_table,
    "positions-figure-sources": of_parts,
    "architecture-activation": of_activation,
}
