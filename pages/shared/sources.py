"""The source of a model, a folder of the chooser or a snapshot of a training, and the interventions in it.

A source consists of a few strings and numbers, which are the key of everything that is cached for it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import headlight as hl
import transformer_core as tc
from headlight.viewing.media import Medium
from pages.shared import cache, devices, models
from pages.shared.devices import CPU, PRECISIONS
from pages.shared.models import PAPER_BASE, ModelCard
from pages.shared.recipe import Expression, call, named, through, value_of
from transformer_core.errors import HeadlightError, mark
from transformer_core.model.presets import transformer_base
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer


@dataclass(frozen=True)
class Source:
    """The weights that read a text, where they run, the interventions in them, and whether they continue the text."""

    path: str  # of the model's folder, or of the run's
    version: str  # of the weights
    device: str = CPU
    precision: str = PRECISIONS[0]
    step: int | None = None  # of a run's film; None: `path` is a model's folder
    continues: bool = True  # the model generates its output, and its heads are shown on that too
    stack: str = ""  # interventions that always act, as JSON; "": none
    text: tuple[Given, str | None] = ("", None)  # text and target that the stack is applied to, where there is one

    @classmethod
    def of(
        cls,
        card: ModelCard,
        device: str = CPU,
        precision: str = PRECISIONS[0],
        *,
        continues: bool | None = None,
    ) -> "Source":
        """Return the source of a model of the chooser; `continues` None means the model's default."""
        continues = card.continues if continues is None else continues
        return cls(card.path, card.version, device, precision, continues=continues)

    @property
    def medium(self) -> Medium | None:
        """The image or sound that the model reads; None: texts."""
        return models.medium_of(self.path, self.version) if self.step is None else None

    def load(self) -> "tuple[Transformer, Tokenizer]":
        """Return the model, in which the stack acts, and its tokenizer, loaded once for all sessions.

        Raises:
            HeadlightError: the weights are missing, damaged or too large for the device, or the stack does not fit.
        """
        if self.stack:
            model, tokenizer = self.recipe()
            return cast("tuple[Transformer, Tokenizer]", value_of((model, tokenizer)))
        if self.step is None:
            return models.load(self.path, self.version, self.device, self.precision)
        return _weights_after(self.step, self.path, self.version)

    def recipe(self, side: str = "") -> tuple[Expression, Expression]:
        """Return the model and its tokenizer as the code of a page has them; `side`: how their names end."""
        model, tokenizer = self._paper_base(side) if self.path == PAPER_BASE else self._from_files(side)
        return (self._with_stack(model, tokenizer, side) if self.stack else model), tokenizer

    def _from_files(self, side: str) -> tuple[Expression, Expression]:
        options = {} if self.device == CPU else {"device": self.device}
        options |= {} if self.precision == PRECISIONS[0] else {"dtype": self.precision}
        if self.step is None:
            is_viewed = models.is_viewed(self.path, self.version)
            loading = call(hl.load_for_viewing if is_viewed else tc.load, self.path, **options)
        else:
            from transformer_core.training.run.film import Film

            loading = call(Film, call(Path, self.path)).load(self.step)
        loaded = through(loading, lambda _: replace(self, stack="").load(), version=self.version)
        second = "processor" if self.medium else "tokenizer"
        model, tokenizer = named(f"model{side}, {second}{side}", loaded)
        return model, tokenizer

    def _with_stack(self, model: Expression, tokenizer: Expression, side: str) -> Expression:
        from headlight.analysis.interventions.context import with_interventions
        from headlight.analysis.interventions.stacks import from_json

        stack, (text, target) = from_json(self.stack), self.text
        options = {name: of for name, of in {"text": text, "target": target}.items() if of is not None and stack.texts}
        changed = call(with_interventions, model, tokenizer, stack, **options)
        in_place = cache.kept(mark("models with interventions"), through(changed, self._on_device))
        return cast(Expression, named(f"changed_model{side}", in_place))

    def _paper_base(self, side: str) -> tuple[Expression, Expression]:
        """Return the paper's base model with random weights, and the first model's tokenizer."""
        from transformer_core.devices import choose_precision

        loading = call(tc.load, models.at_root(models.folder() / models.SHIPPED[0]))
        _, tokenizer = named(f"_, tokenizer{side}", through(loading, lambda make: make(), version=self.version))
        built = call(tc.build, call(transformer_base, tokenizer.vocab_size), seed=0).eval()
        moved = built.to(self.device, call(choose_precision, self.precision))
        return named(f"model{side}", through(moved, lambda _: replace(self, stack="").load()[0])), tokenizer

    def forward(self, value: Expression) -> Expression:
        """Return the same expression, computed on the device of the model."""
        return through(value, self._on_device)

    def _on_device(self, make: Callable[[], Any]) -> Any:
        with devices.on(self.device):
            return make()


@cache.by_arguments(mark("models"))
def _weights_after(step: int, path: str, version: str) -> "tuple[Transformer, Tokenizer]":
    """Return the model of a run's folder as it was after a step, and its tokenizer.

    Raises:
        HeadlightError: these weights no longer exist.
    """
    from transformer_core.training.run.directory import RunDirectory
    from transformer_core.training.run.film import Film

    run_film = Film(Path(path))
    with devices.on(devices.CPU):
        if step in run_film.snapshots():
            return run_film.load(step)
        if run_film.step_now() == step:
            now, model, tokenizer = run_film.load_now()
            if now == step:
                return model, tokenizer
        progress = RunDirectory.open(Path(path)).progress()
        if progress is not None and progress.step == step:
            return tc.load(Path(path) / "last")
    raise HeadlightError("the weights of step {step:,} were replaced by newer ones; reload", step=step)
