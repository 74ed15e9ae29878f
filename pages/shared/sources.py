"""Where a model comes from: a folder of the chooser, or a snapshot of a training; and what is switched off in it.

A source is a handful of plain words and numbers, which make the key of all that is kept of it and stand in addresses.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import transformer_core as tc
from pages.shared import cache, models
from pages.shared.models import CPU, PAPER_BASE, PRECISIONS, ModelCard
from pages.shared.recipe import Expression, call, named, through, value_of, within
from transformer_core.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError, mark
from transformer_core.model.presets import transformer_base
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer
    from transformer_core.text.interface import Tokenizer

CHANGES = {  # what can be done to heads, and what a person reads
    "off": "switched off: what it writes is 0",
    "even": "evened out: it looks at all that it may, alike",
}
_HEAD = re.compile(r"([a-z]+)\.(\d{1,4})\.(\d{1,4})")


@dataclass(frozen=True)
class Source:
    """The weights that read a text, where they run, what is changed in them, and whether they continue the text."""

    path: str  # of the model's folder, or of the run's
    version: str  # of the weights
    device: str = CPU
    precision: str = PRECISIONS[0]
    step: int | None = None  # of a run's film; None: `path` is a model's folder
    change: str = ""  # such as "off:cross.1.2+cross.1.3"; "": none
    continues: bool = True  # the model writes its output, and its heads are shown on that too
    stack: str = ""  # interventions that always act, as JSON; "": none
    text: tuple[Given, str | None] = ("", None)  # text and target that the stack is applied to, where there is one

    @classmethod
    def of(
        cls,
        card: ModelCard,
        device: str = CPU,
        precision: str = PRECISIONS[0],
        change: str = "",
        *,
        continues: bool | None = None,
    ) -> "Source":
        """Return a model of the chooser; `continues` is None for what is usual with it."""
        continues = card.continues if continues is None else continues
        return cls(card.path, card.version, device, precision, None, change, continues)

    def load(self) -> "tuple[Transformer, Tokenizer]":
        """Return the model and its tokenizer, loaded once for all sessions; the stack acts in it, a change does not.

        Raises:
            HeadlightError: the weights are not there, damaged, or do not fit the device; or the stack does not fit.
        """
        if self.stack:
            model, tokenizer = self.recipe()
            return cast("tuple[Transformer, Tokenizer]", value_of((model, tokenizer)))
        if self.step is None:
            return models.load(self.path, self.version, self.device, self.precision)
        from pages.shared import run_models

        return run_models.load_at(self.path, self.version, self.step)

    def recipe(self, side: str = "") -> tuple[Expression, Expression]:
        """Return the model and its tokenizer as the code of a page has them; `side`: how their names end."""
        model, tokenizer = self._paper_base(side) if self.path == PAPER_BASE else self._from_files(side)
        return (self._with_stack(model, tokenizer, side) if self.stack else model), tokenizer

    def _from_files(self, side: str) -> tuple[Expression, Expression]:
        """Return the model of a folder or a snapshot, and its tokenizer."""
        options = {} if self.device == CPU else {"device": self.device}
        options |= {} if self.precision == PRECISIONS[0] else {"dtype": self.precision}
        if self.step is None:
            loading = call(tc.load, self.path, **options)
        else:
            from transformer_core.training.run.film import Film

            loading = call(Film, call(Path, self.path)).load(self.step)
        loaded = through(loading, lambda _: replace(self, stack="").load(), version=self.version)
        model, tokenizer = named(f"model{side}, tokenizer{side}", loaded)
        return model, tokenizer

    def _with_stack(self, model: Expression, tokenizer: Expression, side: str) -> Expression:
        """Return the model in which the stack acts."""
        from transformer_core.analysis.interventions.stack_json import from_json
        from transformer_core.analysis.interventions.standing import with_interventions

        text, target = self.text
        options = {} if target is None else {"target": target}
        changed = call(with_interventions, model, tokenizer, from_json(self.stack), text, **options)
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

    def forward(self, model: Expression, value: Expression) -> Expression:
        """Return what forward passes of `model`, as `recipe` gives it, compute: on its device and with its change."""
        if self.change:
            value = within(through(self._intervention(model), lambda _: self.changed(value_of(model))), value)
        return through(value, self._on_device)

    def changed(self, model: "Transformer") -> AbstractContextManager[None]:
        """Run the model with its change.

        Raises:
            ConfigError: a head that the model has not.
        """
        _check_heads(model.config, parse_change(self.change)[1])
        return value_of(self._intervention(model))

    def _intervention(self, model: "Expression | Transformer") -> Expression:
        """Return the context in which the model runs with its change."""
        from transformer_core.instrument.intervene import intervene
        from transformer_core.instrument.interventions import replace, zero_heads

        kind, heads = parse_change(self.change)
        of_sites: dict[str, list[int]] = {}
        for attention, layer, head in heads:
            site = ATTENTIONS[attention].site(layer, "hook_z" if kind == "off" else "hook_attn_scores")
            of_sites.setdefault(site, []).append(head)
        edits = {  # evened out, what the mask forbids stays forbidden
            site: call(zero_heads, numbers) if kind == "off" else call(replace, 0.0, heads=numbers)
            for site, numbers in of_sites.items()
        }
        return call(intervene, model, edits)

    def _on_device(self, make: Callable[[], Any]) -> Any:
        with models.on(self.device):
            return make()


def parse_change(change: str) -> tuple[str, list[tuple[str, int, int]]]:
    """Return what is done, and to which heads: (attention, layer, head) each; ("", []) where nothing is.

    Raises:
        ConfigError: it is not written as a change is.
    """
    if not change:
        return "", []
    kind, _, names = change.partition(":")
    found = [_HEAD.fullmatch(name) for name in names.split("+")]
    if kind not in CHANGES or not all(found):
        raise ConfigError(
            "“{change}” is not a valid change; write off or even, a colon, and heads, such as off:cross.1.2+cross.1.3",
            change=change[:60],
        )
    return kind, [(match[1], int(match[2]), int(match[3])) for match in found if match]


def _check_heads(config: ModelConfig, heads: list[tuple[str, int, int]]) -> None:
    """Check that a model has some heads.

    Raises:
        ConfigError: it has not.
    """
    attentions = attentions_of(config)
    for attention, layer, head in heads:
        if attention not in attentions or layer >= attentions[attention].n_layers(config) or head >= config.n_heads:
            name = f"{attention} L{layer}.H{head}"
            raise ConfigError("this model has no head {head}; choose another to change", head=name)
