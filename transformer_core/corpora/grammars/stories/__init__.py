"""Small tales from a grammar of our own, with characters, places, things, cause and consequence.

What is in the world: people.py, things.py, places.py, all together in lexicon.py; what can happen in it: world.py and
plots/; who plays in a tale: casting.py; how it is told: wording.py, discourse.py, telling.py; how somebody reads it who
did not tell it: patterns.py, references.py, surface.py, reading.py; which tales are held out: split.py.

A tale is planned as events in a world that knows who has what, who is where, what is lost, broken or promised; an event
that is not possible at that moment is refused. So each ending follows from its beginning.
"""

import random
from dataclasses import dataclass

from transformer_core.corpora.corpus import Corpus, Text
from transformer_core.corpora.grammars.stories.casting import Plan
from transformer_core.corpora.grammars.stories.examples import EXAMPLES, FILL_IN_EXAMPLES
from transformer_core.corpora.grammars.stories.plots import DEEDS, PLOTS
from transformer_core.corpora.grammars.stories.reading import faults, is_grammatical
from transformer_core.corpora.grammars.stories.split import combinations, is_held_out_combination
from transformer_core.corpora.grammars.stories.telling import NoWordsError, Teller
from transformer_core.corpora.grammars.stories.wording import sentences
from transformer_core.corpora.tasks.generated import GeneratedCorpus
from transformer_core.errors import Message

__all__ = ["EXAMPLES", "FILL_IN_EXAMPLES", "Tale", "coherent", "faults", "grammatical", "opening", "stories", "tell"]

N_TRAIN, N_HELD_OUT = 40_000, 2_000  # tales
MIN_WORDS, MAX_WORDS = 35, 95  # of a tale
VOCAB_SIZE = 1_000  # tokens, enough for most words to be one
INTRODUCED = 0.25  # share of the shorter tales that begin with "Once there was a girl named ..."

_PLOTS = tuple(PLOTS.items())


@dataclass(frozen=True)
class Tale:
    """A tale, and what it is about."""

    text: str
    plot: str  # one of `PLOTS`
    hero: str  # the child whom it is about
    thing: str  # the thing, animal or task that matters
    place: str  # where, or what else matters

    @property
    def is_held_out(self) -> bool:
        """Whether it has a combination that training never shows."""
        return any(map(is_held_out_combination, combinations(self.plot, self.hero, self.thing, self.place)))


def _draw(seed: int) -> tuple[list[Text], list[Text]]:
    """Draw the tales.

    Held out are the tales with certain combinations: of plot, hero and thing, or of plot, thing and place. Training has
    all of these names, things and places in the same plots, but never so combined; which ones does not depend on the
    seed.
    """
    rng = random.Random(seed)
    train: dict[str, Text] = {}
    held_out: dict[str, Text] = {}
    while len(train) < N_TRAIN or len(held_out) < N_HELD_OUT:
        tale = tell(rng)
        part, size = (held_out, N_HELD_OUT) if tale.is_held_out else (train, N_TRAIN)
        if len(part) < size:
            part.setdefault(tale.text, Text(tale.text))
    return list(train.values()), list(held_out.values())


def tell(rng: random.Random) -> Tale:
    """Draw one tale; the same for the same state of the generator."""
    plot, happen = _PLOTS[int(rng.random() * len(_PLOTS))]
    while True:
        plan = Plan(rng, DEEDS)
        happen(plan)
        if len(plan.events) < 6 and plan.maybe(INTRODUCED):
            plan.events.insert(
                0, (DEEDS["live"], {"A": plan.hero})
            )  # possible before anything, and in the way of nothing
        try:
            text = Teller(plan).tell()
        except NoWordsError:
            continue
        if MIN_WORDS <= text.count(" ") + 1 <= MAX_WORDS:
            return Tale(text, plot, plan.hero, plan.thing, plan.place)


def opening(text: Text) -> str:
    """The first sentence of a tale, which a model is to continue."""
    return sentences(text.text)[0]


def coherent(text: Text, output: str) -> bool:
    """Whether the opening of a tale and what a model wrote behind it hang together; see `faults`."""
    return not faults(_joined(text, output))


def grammatical(text: Text, output: str) -> bool:
    """Whether each sentence that a model wrote is one that the grammar of the tales can make, whatever it means."""
    return is_grammatical(_joined(text, output))


def _joined(text: Text, output: str) -> str:
    return f"{opening(text)} {output.strip()}"


stories = GeneratedCorpus(
    about=Corpus(
        name="stories",
        title="Stories",
        description=Message(
            "Short stories generated from a grammar: someone loses, breaks, finds, lends or guesses something."
        ),
        examples=EXAMPLES,
        fill_in_examples=FILL_IN_EXAMPLES,
        tokenizer_kind="byte_bpe",
        vocab_size=VOCAB_SIZE,
        text_measures={"coherent": coherent, "grammatical": grammatical},
        prompt_of=opening,
    ),
    draw=_draw,
)
