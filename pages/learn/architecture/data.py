"""The data of the Architecture page: the plan of a model, the chosen block, and the activations on a text."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headlight.analysis.blueprint.plan import Blueprint, Box, blueprint_of
from headlight.analysis.blueprint.shapes import sizes
from pages.learn.architecture import view_fields
from pages.shared import cache, devices, readings
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, named, through, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.config import ModelConfig
from transformer_core.errors import mark

if TYPE_CHECKING:
    import numpy as np

    from headlight.analysis.trace.model_run import ModelRun
    from headlight.analysis.trace.residual_stream import Stream

MOST_TOKENS = 512  # captured per text, and per decoder input
KIND = mark("captured activations")


@dataclass(frozen=True, kw_only=True, eq=False)
class ArchitectureData:
    """A block of a model, and a text; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    model_run: "ModelRun"
    plan: Blueprint
    box: Box
    missed: str  # name of the requested block if the model has no such block, else ""

    @classmethod
    def current(cls, card: ModelCard) -> "ArchitectureData | None":
        """Return the data of the page; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        view, model_run = state.current(), readings.current(card)
        if model_run is None:
            return None
        plan = blueprint_of(card.config)
        box, missed = view_fields.fit(plan)
        source = view.source(card)
        return cls(card=card, view=view, source=source, model_run=model_run, plan=plan, box=box, missed=missed)

    @cached_property
    def recipe(self) -> Expression:
        """The model run as code."""
        return readings.recipe(self.source, self.card.config, self.view.text, self.view.target)

    @property
    def config_recipe(self) -> Expression:
        """The model's configuration as code; available without loading the model."""
        return through(self.source.recipe()[0].config, lambda _: self.card.config)

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """The captured tokens of the text and of the decoder's input."""
        return tuple(tokens[:MOST_TOKENS] for tokens in self.model_run.inputs)

    @property
    def is_cut(self) -> bool:
        """Whether the text is longer than the captured part."""
        return self.inputs != self.model_run.inputs

    @property
    def lengths(self) -> Mapping[str, int]:
        """The number of captured tokens of each stack, by its name."""
        return {stack: len(tokens) for stack, tokens in zip(self.plan.stacks, self.inputs, strict=False)}

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of the tokens that each stack reads, by its name."""
        sides = {"encoder": self.model_run.source, "decoder": self.model_run.target}
        return {stack: sides[stack][:MOST_TOKENS] for stack in self.plan.stacks}

    def stack_of(self, box: Box) -> str:
        """Return the stack whose positions a block has: its own, or the last one's."""
        return box.stack or self.plan.stacks[-1]

    @property
    def shape_lengths(self) -> dict[str, int]:
        """The number of tokens of each stack in the shapes: as typed, else as in the text."""
        typed = {stack: view_fields.SHAPES[stack].value for stack in self.plan.stacks}
        return {stack: typed[stack].pos if typed[stack] else n for stack, n in self.lengths.items()}

    @property
    def sharings(self) -> tuple[str, ...]:
        """The possible values of `tie_embeddings` for this model; none without a last linear layer."""
        if not self.card.config.unembed:
            return ()
        can_share_all = len(self.plan.stacks) > 1 and not self.card.config.src_vocab_size
        return ("three_way", "target", "none") if can_share_all else ("target", "none")

    @property
    def shared_config(self) -> ModelConfig:
        """The model's configuration with the chosen weight sharing."""
        chosen = view_fields.TYING.value
        return replace(self.card.config, tie_embeddings=chosen) if chosen in self.sharings else self.card.config

    @property
    def batch(self) -> int:
        """The batch size in the shapes: as typed, else 1."""
        typed = (view_fields.SHAPES[stack].value for stack in self.plan.stacks)
        return next((shape.batch for shape in typed if shape), 1)

    @property
    def has_typed_shapes(self) -> bool:
        """Whether the shapes are those of a typed batch shape."""
        return (self.batch, self.shape_lengths) != (1, dict(self.lengths))

    def sizes_of(self, box: Box) -> dict[str, int]:
        """Return the number that each symbol of a shape stands for."""
        return sizes(self.card.config, box, batch=self.batch, lengths=self.shape_lengths)

    def values(self, site: str) -> "np.ndarray":
        """Return the value at a hook point for this text.

        Raises:
            HeadlightError: the model cannot be run.
        """
        with self._reading():
            return value_of(self.captured.values(site))

    def streams(self) -> "dict[str, Stream]":
        """Return the residual stream of each stack on this text.

        Raises:
            HeadlightError: the model cannot be run.
        """
        with self._reading():
            return value_of(self.captured.streams())

    @cached_property
    def captured(self) -> Expression:
        """The captured activations of this text, shared by all sessions, as code."""
        from headlight.analysis.blueprint.capture import CapturedText

        inputs: Any = self.recipe.inputs
        if self.is_cut:
            inputs = [inputs[i][:MOST_TOKENS] for i in range(len(self.inputs))]
        result = call(CapturedText, self.source.recipe()[0], inputs)
        return named("captured", cache.kept(KIND, result))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Run the body on the model's device, then measure the size of what is cached for the text."""
        with devices.on(self.source.device):
            yield
        cache.measure(KIND, self.captured)

    def file_name(self, *more: str) -> str:
        """Return the name of a file that is saved, without its ending."""
        return "-".join([self.view.model, "architecture", *more])
