"""What the page Decoding shows of a text with blanks at one time: which are filled, with what, and what is said."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pages.explore.decoding import aim as decoding_aim
from pages.explore.decoding import view_fields
from pages.shared import cache, code, models, prose, readings
from pages.shared.models import ModelCard
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.errors import TextError, mark
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.filling import BlankPrediction, Filling, FillingState, FillingStep, FillingTree
    from transformer_core.decoding.looking import Aim
    from transformer_core.text.interface import Tokenizer

KIND = mark("filled-in texts")
MOST_GIVEN = 512  # tokens of a text
MOST_BLANKS = 24  # of a text
N_BARS = 6  # candidates of a blank that are drawn
CODE = """tree = FillingTree(model, torch.tensor([ids]{device}), mask_id=tokenizer.mask_id)
filling = tree.follow({choices})  # place and token of each blank, in the order in which they were filled
for place, blank in tree.read(filling).blanks.items():
    candidates = blank.candidates({n})
    print(place, [(tokenizer.labels([one.token])[0], one.probability) for one in candidates], blank.entropy)
print(filling.total_log_prob, "nats")
"""
_REQUEST = Kept("decoding-blanks-request")  # what a person asked for: "next", "all", or a place with a token or a word
PLACE = Kept("decoding-blanks-place")  # of the blank that is looked at; where there is none, the next one
_FORM = re.compile(r"\d{1,5}:\d{1,7}(?:\.\d{1,5}:\d{1,7})*")


@dataclass(frozen=True, kw_only=True, eq=False)
class BlankText:
    """A text with blanks as the model was given it, and all ways in which they were filled so far."""

    tree: "FillingTree"
    tokenizer: "Tokenizer"
    labels: tuple[str, ...]
    left_out: range  # places of the tokens of the text that were not read, for want of room


@dataclass(frozen=True, kw_only=True, eq=False)
class BlanksData:
    """Some blanks filled, the others open; all parts of the page draw from it."""

    card: ModelCard
    given: BlankText
    whole: "Filling"  # all that was filled, beyond this step too where one has gone back
    at: "Filling"  # what is filled at this step
    state: "FillingState"
    beside: "Filling | None"  # in the same order, what the model says all at once; None before all are filled
    notes: tuple[str, ...]  # a sentence for each thing that could not be done

    @property
    def steps(self) -> "dict[int, FillingStep]":
        """What was filled up to this step, by place, in the order in which it was."""
        return {step.position: step for step in self.at.steps}

    @property
    def next_place(self) -> int | None:
        """The blank that is filled next; None where none is open."""
        surest = self.state.certain_first
        return surest[0].position if surest else None

    @property
    def place(self) -> int:
        """The blank that is looked at: the chosen one, else the next, else the one that was filled last."""
        chosen = PLACE.value
        if chosen in self.given.tree.masks:
            return int(chosen)
        return self.at.steps[-1].position if self.next_place is None else self.next_place

    def blank(self, place: int) -> "BlankPrediction":
        """Return what the model says at a blank, or said just before it was filled."""
        return self.given.tree.read(before(self.at, place)).blanks[place]

    def labels(self, filling: "Filling") -> list[str]:
        """Return the labels of the text with some of its blanks filled."""
        labels = [*self.given.labels]
        for step in filling.steps:
            labels[step.position] = self.label(step.chosen.token)
        return labels

    def label(self, token: int) -> str:
        """Return the label of a token of the vocabulary."""
        return self.given.tokenizer.labels([token])[0]

    @property
    def aim(self) -> "Aim":
        """Whose attention is looked at: a head, or a mean."""
        return decoding_aim.current(self.card.config.n_encoder_layers)

    def code(self) -> str:
        """Return the lines of Python that give what is said at this step."""
        view = state.current()
        needs = "from transformer_core.decoding.filling import FillingTree"
        lines = code.loading(self.card, view, self.given.left_out, needs)
        choices = [(place, step.chosen.token) for place, step in self.steps.items()]
        return "\n".join([*lines, CODE.format(device=code.on_device(view), choices=choices, n=N_BARS)])


def current(card: ModelCard, source: Source, text: str) -> BlanksData:
    """Return what is to be seen now, after what a person has just asked for.

    Raises:
        HeadlightError: the model or the text has nothing to fill in, or the device fails.
    """
    view_fields.fit((source, text))
    given = _given(card, source, text)
    tree, notes = given.tree, list[str]()
    with models.on(source.device), source.changed(tree.model):
        whole = _filled(tree, notes)
        n = view_fields.STEP.value
        at = whole if n is None else whole.first(n)
        try:
            at = _granted(given, at, _REQUEST.pop())
        except TextError as error:
            notes.append(prose.sentence(error))
        if whole.first(len(at.steps)) != at:
            whole = at
        said, beside = tree.read(at), None
        if not said.blanks:
            alone = tree.at_once()
            beside = tree.follow((step.position, alone[step.position].token) for step in at.steps)
    cache.shared().measure(KIND, (source, text))
    if given.left_out:
        notes.append(say("The text is too long; only its first {n:,} tokens are used.", n=given.left_out.start))
    view_fields.FILLED.set(".".join(f"{step.position}:{step.chosen.token}" for step in whole.steps))
    view_fields.STEP.set(None if at == whole else len(at.steps))
    return BlanksData(card=card, given=given, whole=whole, at=at, state=said, beside=beside, notes=tuple(notes))


def before(filling: "Filling", place: int) -> "Filling":
    """Return what was filled before one blank was; all of it where that one is open."""
    places = [step.position for step in filling.steps]
    return filling.first(places.index(place)) if place in places else filling


def ask(request: Any) -> None:
    """A person wants blanks filled: "next", "all", or a place with a token or a word."""
    _REQUEST.set(request)
    look_at(None)


def look_at(place: int | None) -> None:
    """Another blank was chosen; None: the next one."""
    PLACE.set(place)


def go_back(n_steps: int) -> None:
    """Look at the step at which so many blanks were filled."""
    look_at(None)
    view_fields.go_to(n_steps)


def start_again() -> None:
    """Forget what was filled."""
    view_fields.FILLED.set("")
    view_fields.STEP.set(None)
    look_at(None)


def _given(card: ModelCard, source: Source, text: str) -> BlankText:
    """Return the text as the model was given it, which all who read it share."""

    def make() -> BlankText:
        from transformer_core.analysis.trace.traced_forward import EncodedInput, tensor_of
        from transformer_core.decoding.filling import FillingTree

        model, tokenizer = source.load()
        read = EncodedInput.of(tokenizer, text, "encoder_only", min(MOST_GIVEN, readings.max_tokens(card.config)))
        tree = FillingTree(model, tensor_of(read.ids, model), mask_id=tokenizer.mask_id)
        n = len(tree.masks)
        if n > MOST_BLANKS:
            raise TextError(
                "this text has {n} blanks, but at most {most} can be filled; replace some with words",
                n=n,
                most=MOST_BLANKS,
            )
        return BlankText(tree=tree, tokenizer=tokenizer, labels=read.labels, left_out=read.left_out)

    return cache.get(KIND, (source, text), make)


def _filled(tree: "FillingTree", notes: list[str]) -> "Filling":
    """Return what the session, or the address, says was filled; nothing, and a note, where that cannot be."""
    from transformer_core.decoding.filling import NOTHING

    written = view_fields.FILLED.value
    if written and not _FORM.fullmatch(written):
        notes.append(
            say(
                "The link has filled=“{written}”; the format is position:token, joined by dots.",
                written=written[:40],
            )
        )
        return NOTHING
    pairs = [pair.partition(":") for pair in written.split(".") if pair]
    try:
        return tree.follow((int(place), int(token)) for place, _, token in pairs)
    except TextError as error:
        notes.append(say("The blanks in the link cannot be filled: {error}.", error=error))
        return NOTHING


def _granted(given: BlankText, at: "Filling", request: Any) -> "Filling":
    """Return what is filled after a request; a blank that is filled anew opens those again that came after it.

    Raises:
        TextError: it cannot be done.
    """
    from transformer_core.decoding.filling import token_of

    match request:
        case None:
            return at
        case "next":
            return given.tree.fill(at)
        case "all":
            return given.tree.fill_all(at)
    place, chosen = request
    token = token_of(given.tokenizer, chosen) if isinstance(chosen, str) else chosen
    return given.tree.fill(before(at, place), place, token)
