"""What the Build page shows at one time: a head on a text, the learner's lines, and what each of them computes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headlight.analysis.heads.measures import HeadName
from pages.learn.build import view_fields
from pages.learn.build.engine.judging import Verdict, judge
from pages.learn.build.engine.step import Step
from pages.learn.build.engine.workbench import Workbench
from pages.learn.steps import walkthroughs
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, literal, named, through, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun
    from headlight.analysis.walkthrough.walkthrough import Walkthrough


@dataclass(frozen=True, kw_only=True, eq=False)
class BuildData:
    """A head on a text, and a line for each of the twelve steps."""

    card: ModelCard
    view: View
    source: Source
    recipe: Expression  # the model run as code
    inputs_recipe: Expression  # what its attention is computed from, as code
    model_run: "ModelRun"
    walk: "Walkthrough"
    bench: Workbench

    @classmethod
    def current(cls, card: ModelCard) -> "BuildData | None":
        """Return the data of the page; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, the text cannot be read by it, or its attention has parts that
                the paper's has not.
        """
        from headlight.analysis.walkthrough.attention_inputs import attention_inputs

        state.fit(card)
        view = state.current()
        if not view.text:
            return None
        source = view.source(card, is_changed=False)  # one writes the model's own formula
        recipe = walkthroughs.recipe(source, card.config, view.text, view.target)
        walk_recipe = walkthroughs.walk(recipe, source, HeadName(view.attention, view.layer, view.head))
        inputs_recipe = named("inputs", call(attention_inputs, source.recipe()[0], walk_recipe))
        model_run, walk, inputs = value_of((recipe, walk_recipe, inputs_recipe))
        return cls(
            card=card,
            view=view,
            source=source,
            recipe=recipe,
            inputs_recipe=inputs_recipe,
            model_run=model_run,
            walk=walk,
            bench=Workbench.of(inputs, walk),
        )

    @cached_property
    def bench_recipe(self) -> Expression:
        """The workbench as code."""
        view = self.view
        walk = walkthroughs.walk(self.recipe, self.source, HeadName(view.attention, view.layer, view.head))
        bench: Expression = named(
            "bench", through(literal(Workbench).of(self.inputs_recipe, walk), lambda _: self.bench)
        )
        return bench

    @property
    def place(self) -> int:
        """Which step is open, from 0."""
        return int(view_fields.STEP.value) - 1

    @property
    def step(self) -> Step:
        """The open step."""
        return self.bench.steps[self.place]

    @property
    def lines(self) -> Sequence[str]:
        """What the learner wrote, for each step."""
        return [str(line.value).strip() for line in view_fields.LINES]

    @cached_property
    def verdicts(self) -> "Sequence[Verdict | None]":
        """What each line computes, and whether that is correct; None where there is no line."""
        return [judge(self.bench, place, line) if line else None for place, line in enumerate(self.lines)]

    @property
    def open_steps(self) -> Sequence[int]:
        """The steps, from 1, whose line is not there or not right."""
        return [place + 1 for place, verdict in enumerate(self.verdicts) if verdict is None or not verdict.is_right]

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of all queries and all keys."""
        return self.model_run.labels(self.view.attention)

    def file_name(self, what: str) -> str:
        """Return the name of a file with something of this head."""
        view = self.view
        return f"{what}-{view.attention}-{view.layer}-{view.head}"
