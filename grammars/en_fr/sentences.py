"""The other kinds of sentences, a function for each; `draw_sentence` draws from all kinds."""

import random
from dataclasses import replace

from grammars.en_fr.choices import (
    TIMES,
    choose_adjectives,
    choose_front,
    choose_location,
    choose_noun,
    choose_object,
    choose_polarity,
    choose_polarity_of_state,
    choose_state,
    choose_subject,
    choose_tense,
    choose_time,
    has_plural,
    is_readable,
    nouns_of,
    one_of,
)
from grammars.en_fr.clauses import ONLY_BESIDE_NOUN, act
from grammars.en_fr.deeds import DEEDS, ON_SEEING, REACTIONS, Deed
from grammars.en_fr.phrases import (
    AND,
    BUT,
    COMMA,
    IF,
    WHEN,
    Action,
    Clause,
    Determiner,
    Existence,
    Gap,
    Link,
    NounPhrase,
    Polarity,
    Pronoun,
    Sentence,
    Tense,
)
from grammars.en_fr.qualities import FITS, GROUPS
from grammars.en_fr.reasons import because, so
from grammars.en_fr.relatives import (
    relative_object,
    relative_of_object,
    relative_subject,
    with_relative,
)
from grammars.en_fr.verbs import VERBS

CREATURES = GROUPS["all"]
SEQUENCES = (  # one after another
    ("go", "buy"),
    ("enter", "sleep"),
    ("cross", "enter"),
    ("leave", "cross"),
    ("open", "read"),
    ("come back", "sleep"),
    ("stay", "sleep"),
    ("leave", "go"),
    ("eat", "drink"),
    ("write", "read"),
    ("cross", "climb"),
)
CONTRASTS = (  # the first done, the second not
    ("see", "cross"),
    ("see", "buy"),
    ("see", "drink"),
    ("see", "open"),
    ("find", "eat"),
    ("find", "read"),
    ("open", "read"),
)
CONDITIONS: tuple[tuple[Link, Tense, Tense], ...] = (  # tense of the condition, of what follows from it
    (IF, "present", "future"),
    (IF, "present", "future"),
    (WHEN, "future_after_when", "future"),
    (WHEN, "present", "present"),
)


def action(rng: random.Random) -> Sentence:
    """The old dog crossed the street; every day, the queen goes to the market."""
    deed = rng.choice(DEEDS)
    verb = VERBS[deed.verb]
    tense = choose_tense(rng, verb)
    polarity = choose_polarity(rng, tense)
    subject = with_relative(rng, choose_subject(rng, deed.subjects, known=polarity != "yes"))
    daily = tense == "present" and verb.aspect == "event" and polarity != "never"
    if daily and polarity != "yes":
        tense, daily = "past", False
    if not is_readable(verb, tense, polarity, subject.plural):
        tense, daily = "past", False
    clause = act(rng, subject, deed, tense, polarity, place=0.25)
    return Sentence("action", (replace(clause, time=choose_time(rng, tense)) if daily else clause,))


def state(rng: random.Random) -> Sentence:
    """The old street is very noisy; these apples were not fresh."""
    quality = rng.choice([name for name in FITS if name not in ONLY_BESIDE_NOUN])
    noun = choose_noun(rng, sorted(FITS[quality]))
    plural = has_plural(noun) and rng.random() < 0.35
    adjectives = choose_adjectives(rng, noun, 0.4, besides=(quality,))
    subject = NounPhrase(noun, plural, rng.choice(("the", "the", "the", "this")), adjectives)
    tense: Tense = rng.choice(("present", "past"))
    polarity = choose_polarity_of_state(rng, quality)
    quality_state = choose_state(
        rng, quality, too=12 if polarity == "yes" else 0, very=30 if polarity != "never" else 0
    )
    return Sentence("state", (Clause(subject, quality_state, tense, polarity),))


def existence(rng: random.Random) -> Sentence:
    """There is a white cat in the garden; there weren't any birds near the lake."""
    location = choose_location(rng)
    noun = choose_noun(rng, CREATURES)
    plural = rng.random() < 0.45
    tense: Tense = rng.choice(("present", "past"))
    polarity: Polarity = rng.choice(("yes", "yes", "yes", "n't"))
    of_many: tuple[Determiner, ...] = ("some", "two", "three") if polarity == "yes" else ("any",)
    determiner = rng.choice(of_many) if plural else "a"
    what = NounPhrase(noun, plural, determiner, choose_adjectives(rng, noun, 0.35))
    return Sentence("existence", (Existence(what, tense, location, polarity),))


def part(rng: random.Random) -> Sentence:
    """The prince opened the door of the old castle."""
    building = choose_noun(rng, GROUPS["buildings"])
    whole = NounPhrase(building, False, "the", choose_adjectives(rng, building, 0.3))
    object = NounPhrase(choose_noun(rng, GROUPS["parts"]), rng.random() < 0.4, "the", (), whole)
    verb = VERBS[rng.choice(("open", "see"))]
    tense = choose_tense(rng, verb)
    tense = "past" if tense == "present" else tense
    subject = with_relative(rng, choose_subject(rng, GROUPS["people"]))
    return Sentence("part", (Clause(subject, Action(verb, object), tense, choose_polarity(rng, tense)),))


def coordination(rng: random.Random) -> Sentence:
    """The girl went to the market and bought an apple."""
    first, second = rng.choice(SEQUENCES)
    first_deed, second_deed = (rng.choice([d for d in DEEDS if d.verb == verb]) for verb in (first, second))
    if second == "buy":
        first_deed = replace(first_deed, objects=("market", "village"))
    names = [name for name in first_deed.subjects if name in second_deed.subjects]
    if not names:
        return coordination(rng)
    subject = with_relative(rng, choose_subject(rng, names))
    tense: Tense = rng.choice(("past", "past", "future"))
    start = act(rng, subject, first_deed, tense)
    return Sentence("coordination", (start, AND, act(rng, Gap(subject), second_deed, tense)))


def contrast(rng: random.Random) -> Sentence:
    """The goat found the apple, but it didn't eat it."""
    first, second = rng.choice(CONTRASTS)
    deed = rng.choice([deed for deed in DEEDS if deed.verb == second])
    subject = with_relative(rng, choose_subject(rng, deed.subjects))
    objects = [name for name in deed.objects if first != "open" or name in ("book", "letter")]
    target = choose_object(rng, objects, subject=subject, definite=True, owned=second != "buy")
    tense: Tense = rng.choice(("past", "past", "future"))
    seen = Clause(subject, Action(VERBS[first], target), tense)
    polarity = choose_polarity(rng, tense, negative=True)
    return Sentence(
        "contrast",
        (seen, COMMA, BUT, Clause(Pronoun(subject), Action(VERBS[second], Pronoun(target)), tense, polarity)),
    )


def condition(rng: random.Random) -> Sentence:
    """If the dog is tired, it will sleep in the garden; the cow will run when it sees the wolf."""
    quality = rng.choice(tuple(REACTIONS)) if rng.random() < 0.6 else None
    verb = rng.choice(REACTIONS[quality] if quality else ON_SEEING)
    deed = rng.choice([deed for deed in DEEDS if deed.verb == verb])
    who = with_relative(rng, choose_subject(rng, deed.subjects, descriptive=True, known=True))
    link, condition_tense, tense = rng.choice(CONDITIONS)
    first = rng.random() < 0.5  # the condition comes first, and has the noun
    named, meant = (who, Pronoun(who)) if first else (Pronoun(who), who)
    if quality is None:
        cause = act(rng, named, Deed("see", deed.subjects, CREATURES), condition_tense, definite=True)
    else:
        cause = Clause(named, choose_state(rng, quality, too=0, very=25), condition_tense)
    consequence = act(rng, meant, deed, tense, place=0.2)
    pieces = (link, cause, COMMA, consequence) if first else (consequence, link, cause)
    return Sentence("condition", pieces)


def meanwhile(rng: random.Random) -> Sentence:
    """The cat was sleeping when the dog entered the house."""
    background = rng.choice([d for d in DEEDS if VERBS[d.verb].aspect == "event" and d.verb != "fall"])
    event = rng.choice([d for d in DEEDS if d.verb in ("enter", "come back", "see", "fall", "leave")])
    subject = with_relative(rng, choose_subject(rng, background.subjects, adjectives=0.1))
    other = choose_subject(rng, [n for n in event.subjects if n not in nouns_of(subject)], adjectives=0.1)
    under_way = act(rng, subject, background, "past_progressive", place=0.2)
    happens = act(rng, other, event, "past", definite=True)
    return Sentence("meanwhile", (under_way, WHEN, happens))


KINDS = {
    because: 36,
    so: 8,
    action: 19,
    state: 5,
    existence: 3,
    part: 2,
    relative_subject: 4,
    relative_of_object: 5,
    relative_object: 4,
    coordination: 4,
    contrast: 5,
    condition: 5,
    meanwhile: 4,
}


def draw_sentence(rng: random.Random) -> Sentence:
    """Draw a sentence of any kind."""
    return with_adverb(rng, one_of(rng, KINDS)(rng))


def with_adverb(rng: random.Random, sentence: Sentence) -> Sentence:
    """Sometimes add a time, or move a place to the front: "yesterday the dog slept", "in the garden, it slept"."""
    first, *rest = sentence.pieces
    if isinstance(first, Link) or first.time or rng.random() >= 0.3:
        return sentence
    if isinstance(first, Clause) and first.location:
        changed: Clause | Existence = replace(first, location=replace(first.location, front=choose_front(rng)))
    elif tense := tense_of_time(first):
        changed = replace(first, time=choose_time(rng, tense))
    else:
        return sentence
    return replace(sentence, pieces=(changed, *rest))


def tense_of_time(clause: Clause | Existence) -> Tense | None:
    """Return the tense whose times suit a clause; None for habits and "never", which have no single time."""
    if clause.polarity == "never" or clause.tense not in TIMES:
        return None
    if isinstance(clause, Clause) and isinstance(clause.predicate, Action):
        return clause.tense if clause.tense != "present" and clause.predicate.verb.aspect != "state" else None
    return "progressive" if clause.tense == "present" else clause.tense
