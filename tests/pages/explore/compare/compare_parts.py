"""Two sides of the Compare page, with given patterns or with a small model; and what the whole page sent, read back."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.flow.divergence import js_divergence
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.interventions.records import InterventionStack
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.sides import Side, SideWeights
from pages.shared.recipe import Expression, named
from pages.shared.sources import Source
from tests.pages.conftest import EXAMPLES, OpenApp, values_of
from tests.pages.explore import parts
from tests.pages.explore.compare.test_sides import side

HEAD = HeadName("encoder", 0, 0)
NUMBERS = count()
Figures = dict[str, dict[str, Any]]
VIEW = {"model": "one", "text": "a b", "target": None, "attention": "encoder", "layer": 0, "head": 0}


class Patterns:
    """All heads of an attention [layer, head, query, key], as `AttentionMaps` has them."""

    def __init__(self, weights: np.ndarray, mask: np.ndarray | None = None) -> None:
        self.weights = weights.astype(np.float32)
        self._mask = np.broadcast_to(True if mask is None else mask, (len(weights), *weights.shape[2:]))
        self.shape = weights.shape

    def pattern(self, layer: int, head: int) -> np.ndarray:
        return np.asarray(self.weights[layer, head])

    def mask(self, layer: int) -> np.ndarray:
        return self._mask[layer]

    def chunks(self, layer: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        yield slice(0, self.shape[2]), self.weights[layer], self._mask[layer]


def patterns(*shape: int, seed: int = 0) -> Patterns:
    """Heads whose rows sum to 1, by chance."""
    return Patterns(np.random.default_rng(seed).dirichlet(np.ones(shape[3]), size=shape[:3]))


def run(maps: Mapping[str, Any], source: Sequence[str] = "xyz", target: Sequence[str] = "uvw", **more: Any) -> Any:
    """A model run with these attentions, over these tokens."""
    sides = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    usual = {"architecture": "encoder_decoder", "output": "u v", "n_given": 2, "inputs": [[1], [2]]}
    usual |= {"predicts": True, "has_mask": True, "ignores_white_space": False}
    labels = {name: (tuple(queries), tuple(keys)) for name, (queries, keys) in sides.items()}
    special = {"source": (False,) * len(source), "target": (False,) * len(target)}
    values = {"attention_maps": maps, "source": tuple(source), "target": tuple(target), "special": special}
    return SimpleNamespace(labels=labels.__getitem__, **values | usual | more)


def comparison(run_a: Any, run_b: Any, a: Side | None = None, b: Side | None = None) -> ComparisonData:
    """Two sides with these runs; without anything else, they are one model on two texts."""
    data = ComparisonData(a=a or side("A", head=HEAD), b=b or side("B", head=HEAD, text="a c"))
    for of, model_run in zip(data.sides, (run_a, run_b), strict=True):
        give(of, model_run)
    return data


def give(of: Side, model_run: Any) -> Side:
    """Return the side, which has this model run."""
    name, number = of.letter.lower(), next(NUMBERS)  # so that nothing is cached for the runs of another test
    of.__dict__["recipe"] = named(name, Expression(lambda: f"run_{name}_{number}", lambda: model_run))
    return of


def shown(part: Callable[[], object], **session: Any) -> AppTest:
    """Draw a part of the page."""
    return parts.shown(part, **VIEW | session)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """The mean Jensen-Shannon distance over the rows of two patterns."""
    return float(np.sqrt(js_divergence(a, b)).mean())


def loaded(letter: str, folder: Path, name: str = "en-fr", **more: Any) -> Side:
    """A side that reads with a model of a folder."""
    place = folder / name
    model, _ = tc.load(place)
    of = SideWeights(name=name, source=Source(str(place), "1"), config=model.config, corpus="pairs", examples=())
    usual: dict[str, Any] = {"change": InterventionStack(), "text": EXAMPLES[1], "target": None, "head": HEAD}
    return Side(letter=letter, weights=of, **usual | more)


def open_compare(open_app: OpenApp, **parameters: str) -> AppTest:
    """Open the page by a link."""
    app = open_app("compare", **parameters)
    assert not app.exception
    return app


def figures_of(app: AppTest) -> Figures:
    """The figures, by their titles."""
    sent = [json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    figures = [json.loads(data["figure"]) for data in sent]
    return {str(figure["layout"]["title"]["text"]): figure for figure in figures}


def cells_of(figure: dict[str, Any], name: str) -> np.ndarray:
    """The numbers of a heatmap, by the beginning of its name; 0 where there is none."""
    return np.nan_to_num(values_of(next(trace for trace in figure["data"] if trace["name"] == name)))
