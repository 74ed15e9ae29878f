"""The two sides of the Compare page: which weights read which text, and which of their heads are compared."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headlight.analysis.heads.measures import HeadName, heads_of
from headlight.analysis.interventions.records import InterventionStack
from headlight.analysis.interventions.stacks import check_stack, from_json, to_json
from headlight.analysis.trace.attentions import attentions_of
from headlight.language import say, say_number
from pages.explore.compare import view_fields
from pages.explore.compare.ablation import OTHER, ablated_heads, ablation, method_of
from pages.shared import drawing, models, prose, readings, run_readings, runs
from pages.shared.heads import head_in_words
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, named, value_of
from pages.shared.run_figures import weights_folder
from pages.shared.sources import Source
from pages.shared.view import files, state
from transformer_core.cached_property import cached_property
from transformer_core.config import ModelConfig
from transformer_core.errors import HeadlightError, Message, mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

NAMES = {
    "zero": mark("{name}, {heads} zero-ablated"),
    "uniform": mark("{name}, {heads} with uniform attention"),
}
NO_HEADS = mark("{letter} ({name}) has none of the heads to ablate, so nothing is ablated.")
SOME_HEADS = mark("{letter} ({name}) has only some of the heads to ablate; those are ablated.")
MISFIT = mark("The interventions in {letter} do not fit {name} and are not active: {why}.")
MUCH_LIKE = 0.6  # share of common words above which two texts count as similar
_WHERE = {"cross": mark("cross-attention"), "encoder": mark("encoder"), "decoder": mark("decoder")}


@dataclass(frozen=True, kw_only=True)
class SideWeights:
    """A model from the list, or a snapshot of a training run."""

    name: str  # shown to people
    source: Source  # without the interventions of the side
    config: ModelConfig
    corpus: str  # the model was trained on
    examples: tuple[str, ...]
    takes_pairs: bool = False
    snapshots: tuple[int, ...] = ()  # of the training
    run: str = ""  # the training run; "" for a model

    @property
    def is_viewed(self) -> bool:
        """Whether transformers computes the model, and not the core."""
        return models.is_viewed(self.source.path, self.source.version)

    @property
    def heads(self) -> list[HeadName]:
        """All heads, in model order."""
        return [*heads_of(self.config)]


@dataclass(frozen=True, kw_only=True)
class Side:
    """A model with interventions, the text that it reads, and the head that is compared."""

    letter: str  # "A" or "B"
    weights: SideWeights
    change: InterventionStack  # acts after the interventions of the bar's model
    text: Given
    target: str | None  # forced on an encoder-decoder; None: what it generates
    head: HeadName

    @property
    def source(self) -> Source:
        """The weights with the interventions.

        Raises:
            HeadlightError: the model and this side have too many interventions together.
        """
        source = self.weights.source
        if not self.change.enabled:
            return source
        stack = InterventionStack(entries=(*from_json(source.stack or "[]").entries, *self.change.entries))
        text = source.text if source.stack or not self.change.texts else (self.text, None)
        return replace(source, stack=to_json(stack), text=text)

    @property
    def name(self) -> str:
        """The weights and their interventions, in words."""
        name, method, heads = self.weights.name, method_of(self.change), ablated_heads(self.change)
        listed = ", ".join(short_title(HeadName(*of)) for of in heads[:3])
        listed += say(" and {n} more", n=len(heads) - 3) if len(heads) > 3 else ""
        if method == OTHER:
            n = len(self.change.enabled)
            return say_number(n, "{name}, {n} intervention", "{name}, {n} interventions", name=name)
        return say(NAMES[method], name=name, heads=listed) if method else name

    @property
    def file_name(self) -> str:
        """The name of the model or training run, for file names."""
        source = self.weights.source
        name = self.weights.run or source.path.rpartition("/")[2]
        return name if source.step is None else f"{name}-step{source.step}"

    @property
    def folder(self) -> str:
        """The folder of the weights, relative to the project root."""
        source = self.weights.source
        return source.path if source.step is None else weights_folder(Path(source.path), source.step)

    def as_json(self) -> dict[str, Any]:
        """Return the weights, text and head of this side, for the saved state of a figure."""
        return {
            "model": drawing.model_of(self.folder),
            "change": json.loads(to_json(self.change)),
            "text": self.text,
            "target": self.target,
            "head": list(self.head),
        }

    @property
    def ending(self) -> str:
        """The suffix of names in code."""
        return f"_{self.letter.lower()}"

    @property
    def loaded(self) -> tuple[Expression, Expression]:
        """Its model and tokenizer as code."""
        return self.source.recipe(self.ending)

    @cached_property
    def recipe(self) -> Expression:
        """The model run of its text as code; `value_of` raises HeadlightError where the text cannot be read."""
        return self.run(self.letter.lower(), self.target)

    @property
    def model_run(self) -> "ModelRun":
        """The model run of its text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read.
        """
        model_run: ModelRun = value_of(self.recipe)
        return model_run

    @property
    def attention_maps(self) -> Expression:
        """The attention of its head as code."""
        return self.recipe.attention_maps[self.head.attention]

    def run(self, name: str, target: str | None) -> Expression:
        """Return a model run of its text as code, under a name."""
        config, ending = self.weights.config, self.ending
        return readings.recipe(self.source, config, self.text, target, name=name, side=ending)

    def forward(self, name: str, function: Callable[..., Any], *arguments: Any) -> Expression:
        """Return the value of a function that runs the model, as code under a name; the model is its first argument."""
        model = self.loaded[0]
        value: Expression = named(f"{name}{self.ending}", self.source.forward(call(function, model, *arguments)))
        return value


def resolve(cards: Mapping[str, ModelCard]) -> tuple[Side, Side, list[str]]:
    """Return the two chosen sides, and a sentence for each choice that was unavailable and replaced."""
    notes: list[str] = []
    view = state.current()
    bar = _of_card(cards[view.model])
    weights_a = _weights(view_fields.WEIGHTS_A.value, bar, {}, notes)
    weights_b = _weights(view_fields.WEIGHTS_B.value, weights_a, cards, notes)
    head = HeadName(view.attention, view.layer, view.head)
    if weights_a.run and view_fields.HEAD_A.value:
        head = view_fields.HEAD_A.value
    target = view.target if weights_a.config.architecture == "encoder_decoder" else None
    change_a, change_b = view_fields.CHANGE_A.value, view_fields.CHANGE_B.value
    a = Side(letter="A", weights=weights_a, change=change_a, text=view.text, target=target, head=head)
    a = _fitted(a, notes)
    head = view_fields.HEAD_B.value or a.head
    b = _fitted(replace(a, letter="B", weights=weights_b, change=change_b, target=None, head=head), notes)
    if has_own_text := view_fields.TEXT_B.value is not None or bool(view_fields.SECOND_TEXT_B.value):
        b = replace(b, text=_text_of_b(a, weights_b))
    medium = weights_b.source.medium
    if (medium and b.text not in files.keys(medium)) or (weights_a.source.medium and not medium and b.text == a.text):
        return a, replace(b, text=next(iter(weights_b.examples), "")), notes
    if has_own_text:
        return a, b, notes
    is_like = b == replace(a, letter="B", target=None) and view_fields.HEAD_B.value is None
    return a, _another(b) if is_like else b, notes


def _text_of_b(a: Side, weights: SideWeights) -> Given:
    """Return the typed input of B; the text of a pair that was not typed is A's."""
    first, second = view_fields.TEXT_B.value, view_fields.SECOND_TEXT_B.value
    if not (second and weights.takes_pairs):
        return first or a.text
    return first or (a.text if isinstance(a.text, str) else a.text[0]), second


def teacher_forced(b: Side, a: Side) -> Side:
    """Return side B, teacher-forced on A's output if both read the same text with the same vocabulary.

    Otherwise the outputs soon diverge and cannot be compared token by token.
    """
    if b.source == a.source and b.text == a.text:
        return replace(b, target=a.target)  # its output is the same anyway
    is_forced = can_be_forced(a, b) and not view_fields.B_WRITES.value
    return replace(b, target=a.model_run.output or None) if is_forced else b


def can_be_forced(a: Side, b: Side) -> bool:
    """Whether B can be teacher-forced on A's output, and is not the same model anyway."""
    both = [side.weights for side in (a, b)]
    return (
        a.text == b.text
        and a.source != b.source
        and both[0].corpus == both[1].corpus
        and all(weights.config.architecture == "encoder_decoder" for weights in both)
    )


def short_title(head: HeadName) -> str:
    """Return the name of a head in lists: "cross-attention L1.H0", "encoder L0.H2"."""
    return f"{say(_WHERE[head.attention])} L{head.layer}.H{head.head}"


def _of_card(card: ModelCard) -> SideWeights:
    view = state.current()
    is_of_bar = card.name == view.model
    of_view = view if is_of_bar else replace(view, continues=state.wants_continuation(card))
    return SideWeights(
        name=card.title,
        source=of_view.source(card),
        config=card.config,
        corpus=card.corpus,
        examples=card.examples,
        takes_pairs=card.takes_pairs,
    )


def _weights(wanted: str, otherwise: SideWeights, cards: Mapping[str, ModelCard], notes: list[str]) -> SideWeights:
    """Return the wanted weights; if they are missing, add a note and return `otherwise` or the nearest snapshot."""
    if not wanted or wanted in cards:
        return _of_card(cards[wanted]) if wanted else otherwise

    def instead(why: Message) -> SideWeights:
        notes.append(prose.sentence(Message("{why}; {otherwise} is shown instead", why=why, otherwise=otherwise.name)))
        return otherwise

    name, _, step = wanted.rpartition("@")
    try:
        run = runs.find(name) if name and step.isdecimal() else None
        if run is None:
            return instead(Message("there is no model or training run “{wanted}”", wanted=wanted[:60]))
        snapshots = tuple(run_readings.film(run).snapshots())
        if not snapshots:
            return instead(Message("the training run {name} has no snapshots", name=name))
        nearest = min(snapshots, key=lambda snapshot: abs(snapshot - int(step)))
        if nearest != int(step):
            values = {"name": name, "step": step[:20], "nearest": nearest}
            notes.append(say("{name} has no snapshot at step {step}; step {nearest:,} is shown instead.", **values))
        return SideWeights(
            name=say("{name}, step {nearest:,}", name=name, nearest=nearest),
            source=run_readings.source(run, nearest),
            config=runs.configurations(run)[0],
            corpus=str((run.request or {}).get("corpus", "")),
            examples=run_readings.examples(run),
            snapshots=snapshots,
            run=name,
        )
    except (HeadlightError, OSError) as error:
        return instead(Message("the training run {name} cannot be loaded ({error})", name=name[:60], error=error))


def _fitted(side: Side, notes: list[str]) -> Side:
    """Return the side with the nearest existing head and only the interventions that fit its model."""
    config, words = side.weights.config, {"letter": side.letter, "name": side.weights.name}
    attentions, head = attentions_of(config), side.head
    attention = head.attention if head.attention in attentions else [*attentions][-1]
    n_layers = attentions[attention].n_layers(config)
    nearest = HeadName(attention, min(head.layer, n_layers - 1), min(head.head, config.n_heads - 1))
    if nearest != head:
        names = {"head": view_fields.written_head(head), "nearest": head_in_words(*nearest)}
        notes.append(say("{letter} ({name}) has no head {head}; {letter} shows {nearest} instead.", **words, **names))
    change, method = side.change, method_of(side.change)
    if method != OTHER:
        heads = ablated_heads(change)
        there = [head for head in heads if head in side.weights.heads]
        if len(there) < len(heads):
            notes.append(say(SOME_HEADS if there else NO_HEADS, **words))
        change = ablation(method, there)
    side = replace(side, head=nearest, change=change)
    if side.weights.is_viewed and change.enabled:
        notes.append(say(MISFIT, why=Message("Headlight’s core does not compute this model"), **words))
        return replace(side, change=InterventionStack())
    try:
        check_stack(config, from_json(side.source.stack or "[]"))
    except HeadlightError as error:
        notes.append(say(MISFIT, why=error, **words))
        return replace(side, change=InterventionStack())
    return side


def _another(b: Side) -> Side:
    """Return a default side B to compare with A: on a similar example text, or else with the next head.

    Args:
        b: a side identical to A.
    """
    words = b.text.split() if isinstance(b.text, str) else []  # a pair has no similar example
    likeness = {
        example: SequenceMatcher(None, words, example.split(), autojunk=False).ratio()
        for example in b.weights.examples
        if example != b.text
    }
    nearest = max(likeness, key=likeness.__getitem__, default="")
    if likeness.get(nearest, 0.0) >= MUCH_LIKE:
        return replace(b, text=nearest)
    heads = [head for head in b.weights.heads if head.attention == b.head.attention]
    return replace(b, head=heads[(heads.index(b.head) + 1) % len(heads)])
