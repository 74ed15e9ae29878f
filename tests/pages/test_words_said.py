"""No text slips past the catalogues: in a language of numbers, no English word is left on a page but data."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
import streamlit as st
import torch

from pages.languages import CATALOGUES
from pages.learn.build.engine.step import Variant
from pages.learn.build.engine.steps import steps_of
from pages.learn.tour import lessons
from pages.learn.tour.lesson_engine.catalogue import KINDS
from pages.learn.tour.lesson_engine.knowledge.ideas import IDEAS
from pages.shared.glossary import TERMS
from pages.shared.view import locale
from tests.pages.conftest import EXAMPLES, app_at
from tests.pages.learn.experiment_pages import make
from tests.pages.pseudo_language import Numbers, left_over, texts_of
from tests.pages.train.small_runs import train_copy
from transformer_core import language
from transformer_core.programs import EXAMPLES as EXAMPLES_OF_PROGRAMS
from transformer_core.training.experiments.experiment import VARIANTS, ExperimentKind, ExperimentRequest
from transformer_core.training.run.launch import Launcher

pytestmark = pytest.mark.slow
FIGURES = "\n".join(  # each that a lesson can have on its own model and text
    f"[figure]\nkind: {name}\n"
    + ("title: 0\n" if kind.needs else "")
    + "".join(f"{need}: pattern[cross, 1, 0] at query 0\n" for need in kind.needs)
    for name, kind in KINDS.items()
    if not kind.trains and name != "matrix"
)
LESSONS = {  # without words of their own
    "figures": f"""title: 1
group: 2
section: 3
model: en-fr
text: {EXAMPLES[1]}
attention: cross
layer: 1
head: 0

[question]
ask: 4
hint: 5
answer: d_head
within: 1

[question]
ask: 6
tokens: source
answer: argmax(pattern[cross, 1, 0] at query 0)

[question]
ask: 7
choice: 8
right when: d_head > 0
choice: 9
right when: d_head < 0

{{{{d_head}}}}

{FIGURES}
[figure]
kind: head
quantity: scores

[figure]
kind: matrix
title: 0
values: pattern[cross, 1, 0]

[check]
claim: 10
holds: d_head == 4
holds: d_head == 5

[link]
page: steps
label: 11
""",
    "training": """title: 12
model: en-fr

[figure]
kind: distributions

[figure]
kind: loss

{{loss at step 79 : 3}}
""",
    "broken": "title: 13\n\n[figure]\nkind: head\nsize: 14\n",
}

IN_COPY = frozenset({"dacb"})  # a text of that corpus
IN_LESSONS = frozenset(  # what a lesson's lines begin with
    {"kind", *(name for kind in KINDS.values() for name in kind.parameters)}
    | {name for names in lessons.linked().values() for name in names}
)
IN_GLOSSARY = frozenset(  # what stands in formulas, and what papers are called
    {"displaystyle"}
    | {
        word.lower()
        for term in TERMS.values()
        for word in re.findall(r"[^\W\d_]+", " ".join([term.formula, *(term.paper or ())]))
    }
)
IN_QUESTIONS = frozenset(word for target, _ in IDEAS[-1].variants for word in target.split())  # of the knowledge test

IN_BUILD = frozenset(  # names in the lines of Python
    word.lower()
    for step in steps_of(Variant(is_cross=True))
    for word in re.findall(r"[^\W\d_]+", f"{step.solution} {step.shapes} queries keys")
)
IN_PROGRAMS = frozenset(  # names in the lines of the examples, their tokens, and what an example says of them
    word.lower()
    for program in EXAMPLES_OF_PROGRAMS.values()
    for word in re.findall(r"[^\W\d_]+", f"{program.source} {' '.join(program.vocab)} ffn none true false line")
)


@dataclass(frozen=True)
class Visit:
    """What is looked at: a page at an address, with some of its folded parts open, and after some clicks."""

    page: str
    address: dict[str, str] = field(default_factory=dict)
    unfolded: tuple[str, ...] = ()  # keys
    clicks: tuple[str, ...] = ()  # keys of buttons
    names: frozenset[str] = frozenset()  # that are read there

    def __str__(self) -> str:
        return " ".join([Path(self.page).stem, *(f"{name}={value}" for name, value in self.address.items())])


VISITS = [
    Visit(
        "learn/tour/page.py",
        {"lesson": "figures"},
        ("tour-narrow",),
        ("tour-figures-0-show", "tour-figures-1-show", "tour-figures-2-choice-1"),
    ),
    Visit(
        "learn/tour/page.py",
        {"lesson": "test-after", "seed": "1"},
        clicks=("tour-test-start", *(f"tour-test-after-{idea.name}-show" for idea in IDEAS)),
        names=IN_QUESTIONS,
    ),
    Visit("learn/tour/page.py", {"lesson": "training"}, clicks=("tour-training-0-0-train",)),
    Visit("learn/glossary/page.py", {"term": "cka"}, names=IN_GLOSSARY),
    Visit("learn/tour/page.py", {"lesson": "broken"}, ("tour-writing",), names=IN_LESSONS),
    Visit("learn/steps/page.py", {"attention": "decoder", "cell": "mask.1.2"}),
    Visit("learn/steps/page.py", {"model": "gaps", "cell": "scaled.1.2"}),
    *(Visit("learn/build/page.py", {"step": step, "attention": "cross"}, names=IN_BUILD) for step in ("2", "6", "12")),
    *(
        Visit("learn/programs/page.py", {"program": name, "line": "1"}, names=IN_PROGRAMS)
        for name in ("sort", "fraction_previous")
    ),
    Visit("learn/programs/page.py", {"source": "x = select("}, names=IN_PROGRAMS),
    *(
        Visit("learn/positions/page.py", {"part": part})
        for part in ("table", "waves", "products", "shift", "model", "retrain")
    ),
    Visit("learn/positions/page.py", {"part": "model", "in": "shuffle"}),
    *(
        Visit("learn/positions/page.py", {"encoding": encoding})
        for encoding in ("learned", "rotary_halves", "alibi", "relative_buckets", "none")
    ),
    Visit("learn/positions/page.py", {"encoding": "rotary_halves", "vectors": "model", "attention": "encoder"}),
    *(Visit("learn/masks/page.py", {"part": part}) for part in ("which", "inference", "leak", "training")),
    *(Visit("learn/masks/page.py", {"part": part, "model": "gaps"}) for part in ("which", "inference")),
    Visit("learn/masks/page.py", {"preset": "unshifted"}),
    Visit(
        "learn/masks/page.py",
        {"preset": "flipped"},
        ("predict-first", "predict-calibration"),
        ("predict-skip",),
    ),
    Visit("learn/masks/page.py"),
    Visit("learn/architecture/page.py"),
    *(Visit("learn/architecture/page.py", {"part": part}) for part in ("parameters", "cost", "stream")),
    *(Visit("learn/architecture/page.py", {"show": shown}) for shown in ("weights", "text", "code")),
    Visit(
        "explore/heads/page.py",
        {"measure": "entropy", "query": "1", "key": "1", "across": "rollout"},
        ("examples", "heads-overview-still"),
    ),
    Visit("explore/heads/page.py", {"model": "gaps", "as": "lines"}, ("heads-lines-still",)),
    *(Visit("explore/decoding/page.py", {"part": part}) for part in ("alignment", "tree", "beams", "cache", "led")),
    Visit("explore/decoding/page.py"),
    Visit("explore/decoding/page.py", {"model": "tales", "part": "cache"}),
    Visit("explore/decoding/page.py", {"model": "gaps"}),
    Visit("explore/compare/page.py"),
    Visit("explore/compare/page.py", {"view": "changed", "btext": EXAMPLES[1]}),
    *(Visit("explore/compare/page.py", {"view": view}) for view in ("map", "layers", "texts")),
    Visit("train/train/page.py"),
    Visit("train/train/page.py", {"run": "copy"}, names=IN_COPY),
    Visit("train/film/page.py", names=IN_COPY),
    Visit("models/models/page.py"),
]


@pytest.fixture(scope="module", autouse=True)
def fresh_caches() -> None:
    """Models and what was read with them are made once for all visits: what is kept depends on no language."""
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def in_numbers(three_kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All is said in numbers; with models, a finished training, a finished experiment of each kind, and lessons."""
    folder = tmp_path_factory.mktemp("place")
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the models are so small that several threads mostly wait for each other
    train_copy(folder)
    for kind in get_args(ExperimentKind):
        request = ExperimentRequest(kind=kind, task="copy", variants=VARIANTS[kind][:2], seed=0, steps=20)
        make(folder / ".experiments" / f"{kind}-20260101-120000", request)
    (folder / "lessons").mkdir()
    for number, (name, text) in enumerate(LESSONS.items()):
        (folder / "lessons" / f"{number}-{name}.md").write_text(text)
    language.add_catalogues(CATALOGUES[0])  # what is kept of the true ones then knows all when they are back
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_catalogue", cache(lambda _: Numbers()))
        patch.setattr(language, "_ask", lambda: "de")
        patch.setattr(locale, "ask_for_language", lambda ask: None)
        patch.setattr(lessons, "SHIPPED", folder / "lessons")
        patch.setattr(Launcher, "warm_up", lambda self: None)
        patch.setenv("HEADLIGHT_LESSONS", str(folder / "none"))
        patch.setenv("HEADLIGHT_RUNS", str(folder))
        patch.setenv("HEADLIGHT_CACHE", str(folder / "cache"))
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(three_kinds))
        yield
    torch.set_num_threads(n_threads)


@pytest.mark.usefixtures("in_numbers")
@pytest.mark.parametrize("visit", VISITS, ids=str)
def test_no_english_is_left_on_a_page(visit: Visit):
    app = app_at(visit.page.split("/")[1], visit.address)
    for key in visit.unfolded:
        app.session_state[key] = True
    for click in (None, *visit.clicks):
        if click:
            app.button(key=click).click()
        app.run()
        assert not [error.stack_trace for error in app.exception]
        assert visit.address.items() <= dict(app.query_params).items()  # it is what was asked for that is seen
        texts = [*texts_of(app)]
        assert any("¤" in text for _, text in texts)
        found = {(name, *words): text[:200] for name, text in texts if (words := left_over(name, text, visit.names))}
        assert not found, "\n".join(f"{name}: {words} in {text!r}" for (name, *words), text in [*found.items()][:20])
