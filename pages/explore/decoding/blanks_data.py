"""The data of the Decoding page for a text with blanks: which are filled, with which tokens, and messages."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headlight.language import say
from pages.explore.decoding import view_fields
from pages.explore.decoding.recipes import FILLED, BlanksRecipe
from pages.shared import cache, devices, prose
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, each, named, value_of
from pages.shared.sources import Source
from pages.shared.view.fields import Kept
from transformer_core.errors import TextError, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.traced_forward import EncodedInput
    from transformer_core.decoding.filling import BlankPrediction, Filling, FillingState, FillingStep, FillingTree
    from transformer_core.text.interface import Given, Tokenizer

MOST_BLANKS = 24  # per text
_REQUEST = Kept("decoding-blanks-request")  # the requested action: "next", "all", or a place with a token or a word
PLACE = Kept("decoding-blanks-place")  # of the selected blank; None: the next one
_FORM = re.compile(r"\d{1,5}:\d{1,7}(?:\.\d{1,5}:\d{1,7})*")


@dataclass(frozen=True, kw_only=True, eq=False)
class BlanksData:
    """Some blanks filled, the others open; all parts of the page draw from it."""

    card: ModelCard
    recipe: BlanksRecipe
    filling_recipe: Expression  # `at`, as code
    given: "EncodedInput"
    tree: "FillingTree"
    tokenizer: "Tokenizer"
    whole: "Filling"  # all filled blanks, including those after this step
    at: "Filling"  # the blanks filled at this step
    state: "FillingState"
    beside: "Filling | None"  # filled with the independent predictions, in the same order; None until all are filled
    notes: tuple[str, ...]  # a sentence for each failed request

    @property
    def steps(self) -> "dict[int, FillingStep]":
        """The blanks filled up to this step, by place, in filling order."""
        return {step.position: step for step in self.at.steps}

    @property
    def next_place(self) -> int | None:
        """The place of the blank that is filled next; None if none is open."""
        surest = self.state.certain_first
        return surest[0].position if surest else None

    @property
    def place(self) -> int:
        """The place of the selected blank: the chosen one, else the next, else the last one filled."""
        chosen = PLACE.value
        if chosen in self.tree.masks:
            return int(chosen)
        return self.at.steps[-1].position if self.next_place is None else self.next_place

    def blank_recipe(self, place: int | Expression) -> Expression:
        """Return the prediction for a blank, from just before it was filled if it is filled, as code."""
        return self.recipe.tree.read(self.filling_recipe.before(place)).blanks[place]

    def blank(self, place: int) -> "BlankPrediction":
        """Return the prediction for a blank, from just before it was filled if it is filled."""
        blank: BlankPrediction = value_of(self.blank_recipe(place))
        return blank

    def labels(self, filling: "Filling") -> list[str]:
        """Return the labels of the text with some of its blanks filled."""
        labels = [*self.given.labels]
        for step in filling.steps:
            labels[step.position] = self.label(step.chosen.token)
        return labels

    def label(self, token: int) -> str:
        """Return the label of a token of the vocabulary."""
        return self.tokenizer.labels([token])[0]


def current(card: ModelCard, source: Source, text: "Given") -> BlanksData:
    """Return the data of the page, after the person's last action.

    Raises:
        HeadlightError: the model or the text has nothing to fill in, or the device fails.
    """
    view_fields.fit((source, text))
    recipe = BlanksRecipe.of(source, card.config, text)
    tokenizer, given, tree = value_of((recipe.tokenizer, recipe.given, recipe.tree))
    if len(tree.masks) > MOST_BLANKS:
        raise TextError(
            "this text has {n} blanks, but at most {most} can be filled; replace some with words",
            n=len(tree.masks),
            most=MOST_BLANKS,
        )
    notes = list[str]()
    with devices.on(source.device):
        whole = _filled(tree, notes)
        n = view_fields.STEP.value
        at = whole if n is None else whole.first(n)
        try:
            at = _granted(tree, tokenizer, at, _REQUEST.pop())
        except TextError as error:
            notes.append(prose.sentence(error))
        if whole.first(len(at.steps)) != at:
            whole = at
        filling = named("filling", recipe.tree.follow([(step.position, step.chosen.token) for step in at.steps]))
        at, result = value_of((filling, recipe.tree.read(filling)))
        beside = None if result.blanks else value_of(all_at_once(recipe, filling))
    cache.measure(FILLED, recipe.tree)
    if given.left_out:
        notes.append(say("The text is too long; only its first {n:,} tokens are used.", n=given.left_out.start))
    view_fields.FILLED.set(".".join(f"{step.position}:{step.chosen.token}" for step in whole.steps))
    view_fields.STEP.set(None if at == whole else len(at.steps))
    return BlanksData(
        card=card,
        recipe=recipe,
        filling_recipe=filling,
        given=given,
        tree=tree,
        tokenizer=tokenizer,
        whole=whole,
        at=at,
        state=result,
        beside=beside,
        notes=tuple(notes),
    )


def all_at_once(recipe: BlanksRecipe, filling: Expression) -> Expression:
    """Return the blanks filled one at a time in the order of their independent predictions, as code."""
    alone = named("alone", recipe.tree.at_once())
    choices = each("step", filling.steps, lambda step: (step.position, alone[step.position].token))
    return named("beside", recipe.tree.follow(choices))


def ask(request: Any) -> None:
    """Request that blanks be filled: "next", "all", or a place with a token or a word."""
    _REQUEST.set(request)
    PLACE.set(None)


def go_back(n_steps: int) -> None:
    """Go to the step at which this many blanks are filled."""
    PLACE.set(None)
    view_fields.go_to(n_steps)


def start_again() -> None:
    """Open all blanks again."""
    view_fields.FILLED.set("")
    view_fields.STEP.set(None)
    PLACE.set(None)


def _filled(tree: "FillingTree", notes: list[str]) -> "Filling":
    """Return the filled blanks of the session or the address; none, with a note, if that is impossible."""
    from transformer_core.decoding.filling import NOTHING

    written = view_fields.FILLED.value
    if written and not _FORM.fullmatch(written):
        message = mark("The link has filled=“{written}”; the format is position:token, joined by dots.")
        notes.append(say(message, written=written[:40]))
        return NOTHING
    pairs = [pair.partition(":") for pair in written.split(".") if pair]
    try:
        return tree.follow((int(place), int(token)) for place, _, token in pairs)
    except TextError as error:
        notes.append(say("The blanks in the link cannot be filled: {error}.", error=error))
        return NOTHING


def _granted(tree: "FillingTree", tokenizer: "Tokenizer", at: "Filling", request: Any) -> "Filling":
    """Return the filled blanks after a request; refilling a blank opens those that were filled after it.

    Raises:
        TextError: the request cannot be carried out.
    """
    match request:
        case None:
            return at
        case "next":
            return tree.fill(at)
        case "all":
            return tree.fill_all(at)
    place, chosen = request
    token = tokenizer.token_of(chosen) if isinstance(chosen, str) else chosen
    return tree.fill(at.before(place), place, token)
