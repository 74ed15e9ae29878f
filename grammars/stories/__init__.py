"""Short stories, planned and told: characters, places, things, cause and consequence.

The words and the deeds are those of the reader, `transformer_core.corpora.shipped.stories`. casting.py and plots/ plan
a story, telling.py puts it into words, split.py says which stories are held out.

A story is planned as events in a world that knows who has what, who is where, what is lost, broken or promised; an
event that is impossible at that moment is refused. So each ending follows from its beginning.
"""

import random
from dataclasses import dataclass

from grammars.stories.casting import Plan
from grammars.stories.plots import PLOTS
from grammars.stories.split import combinations, is_held_out_combination
from grammars.stories.telling import NoWordsError, Teller
from transformer_core.corpora.corpus import Text
from transformer_core.corpora.shipped.stories.world import DEEDS

N_TRAIN, N_HELD_OUT = 40_000, 2_000  # stories
MIN_WORDS, MAX_WORDS = 35, 95  # of a story
INTRODUCED = 0.25  # share of the shorter stories that begin with "Once there was a girl named ..."

_PLOTS = tuple(PLOTS.items())


@dataclass(frozen=True)
class Story:
    """A story, and what it is about."""

    text: str
    plot: str  # one of `PLOTS`
    hero: str  # the child whom it is about
    thing: str  # the thing, animal or task that matters
    place: str  # where, or what else matters

    @property
    def is_held_out(self) -> bool:
        """True if it has a combination that training never shows."""
        return any(map(is_held_out_combination, combinations(self.plot, self.hero, self.thing, self.place)))


def draw(seed: int, n_train: int = N_TRAIN, n_held_out: int = N_HELD_OUT) -> tuple[list[Text], list[Text]]:
    """Draw the stories to train on and the held-out ones.

    Held out are the stories with certain combinations: of plot, hero and thing, or of plot, thing and place. Training
    has all of these names, things and places in the same plots, but never so combined; the combinations do not depend
    on the seed.

    Args:
        seed: of the draw.
        n_train: stories to train on; with fewer, the first ones are the same.
        n_held_out: the same of held-out stories.
    """
    rng = random.Random(seed)
    train: dict[str, Text] = {}
    held_out: dict[str, Text] = {}
    while len(train) < n_train or len(held_out) < n_held_out:
        story = tell(rng)
        part, size = (held_out, n_held_out) if story.is_held_out else (train, n_train)
        if len(part) < size:
            part.setdefault(story.text, Text(story.text))
    return list(train.values()), list(held_out.values())


def tell(rng: random.Random) -> Story:
    """Draw one story; the same for the same state of the generator."""
    plot, happen = _PLOTS[int(rng.random() * len(_PLOTS))]
    while True:
        plan = Plan(rng)
        happen(plan)
        if len(plan.events) < 6 and plan.maybe(INTRODUCED):  # always possible, and without consequence
            plan.events.insert(0, (DEEDS["live"], {"A": plan.hero}))
        try:
            text = Teller(plan).tell()
        except NoWordsError:
            continue
        if MIN_WORDS <= text.count(" ") + 1 <= MAX_WORDS:
            return Story(text, plot, plan.hero, plan.thing, plan.place)
