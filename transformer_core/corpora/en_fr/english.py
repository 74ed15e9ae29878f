"""How English says what the records mean."""

from transformer_core.corpora.en_fr.phrases import (
    Action,
    Both,
    Clause,
    Existence,
    Gap,
    Link,
    Nominal,
    NounPhrase,
    Polarity,
    Pronoun,
    Sentence,
    Tense,
)
from transformer_core.corpora.en_fr.verbs import VERBS, Verb

BE, CAN = VERBS["be"], VERBS["can"]

NEGATIVE = {  # auxiliary: with "not", contracted
    "do": ("do not", "don't"),
    "does": ("does not", "doesn't"),
    "did": ("did not", "didn't"),
    "is": ("is not", "isn't"),
    "are": ("are not", "aren't"),
    "was": ("was not", "wasn't"),
    "were": ("were not", "weren't"),
    "will": ("will not", "won't"),
    "can": ("cannot", "can't"),
    "could": ("could not", "couldn't"),
}

SUBJECT_PRONOUN = {("person", "m"): "he", ("person", "f"): "she"}  # everything else: "it"


def render_sentence(sentence: Sentence) -> str:
    """Return the English sentence."""
    words: list[str] = []
    for piece in sentence.pieces:
        if isinstance(piece, Link):
            words += piece.english.split()
        elif isinstance(piece, Clause):
            words += render_clause(piece)
        else:
            words += render_existence(piece)
    return write(words)


def write(words: list[str]) -> str:
    """Return words as a written sentence: a capital in front, a full stop, no space before a comma."""
    text = " ".join(words).replace(" ,", ",") + "."
    return text[0].upper() + text[1:]


def render_clause(clause: Clause) -> list[str]:
    """Subject, verb, objects, place, time."""
    words = [] if isinstance(clause.subject, Gap) else render_nominal(clause.subject)
    plural = clause.subject.plural
    if isinstance(clause.predicate, Action):
        words += render_action(clause.predicate, clause.tense, clause.polarity, plural)
    else:
        words += render_verb_group(BE, clause.tense, clause.polarity, plural)
        words += [clause.predicate.degree] if clause.predicate.degree else []
        words.append(clause.predicate.quality.english)
    if clause.location:
        words += clause.location.english.split() + render_noun_phrase(clause.location.place)
    if clause.time:
        time = clause.time.english.split()
        words = [*time, ",", *words] if clause.time.first else words + time
    return words


def render_existence(existence: Existence) -> list[str]:
    """There is a cat in the garden."""
    return [
        "there",
        *render_verb_group(BE, existence.tense, existence.polarity, existence.what.plural),
        *render_noun_phrase(existence.what),
        *existence.location.english.split(),
        *render_noun_phrase(existence.location.place),
    ]


def render_action(action: Action, tense: Tense, polarity: Polarity, plural: bool) -> list[str]:
    """Verb, object, recipient; with a modal, the verb is its infinitive: "wants to cross", "can cross"."""
    if action.modal:
        words = render_verb_group(action.modal, tense, polarity, plural)
        words += action.verb.base.split() if action.modal is CAN else ["to", *action.verb.base.split()]
    else:
        words = render_verb_group(action.verb, tense, polarity, plural)
    words += [action.verb.english_preposition] if action.verb.english_preposition else []
    if isinstance(action.object, Pronoun):
        words += [] if isinstance(action.object, Gap) else ["them" if action.object.plural else "it"]
    elif action.object:
        words += render_nominal(action.object)
    return words + (["to", *render_noun_phrase(action.recipient)] if action.recipient else [])


def render_verb_group(verb: Verb, tense: Tense, polarity: Polarity, plural: bool) -> list[str]:
    """Auxiliary, negation and verb: "crosses", "did not cross", "is crossing", "will never cross"."""
    auxiliary, form = auxiliary_and_form(verb, tense, plural)
    if polarity == "yes":
        return [*auxiliary.split(), *form.split()]
    if polarity == "never":
        return [*auxiliary.split(), "never", *form.split()]
    if not auxiliary:
        does = "did" if tense == "past" else "do" if plural else "does"
        auxiliary, form = does, verb.base
    return [*NEGATIVE[auxiliary][polarity == "n't"].split(), *form.split()]


def auxiliary_and_form(verb: Verb, tense: Tense, plural: bool) -> tuple[str, str]:
    """Return the auxiliary ("" where there is none) and the form of the verb behind it."""
    if tense == "future":
        return "will", verb.base
    if tense == "progressive":
        return ("are" if plural else "is"), verb.ing
    if tense == "past_progressive":
        return ("were" if plural else "was"), verb.ing
    past = tense == "past"
    if verb is BE:
        return (("were" if plural else "was") if past else ("are" if plural else "is")), ""
    if verb is CAN:
        return ("could" if past else "can"), ""
    return "", verb.past if past else verb.base if plural else verb.third


def render_nominal(nominal: Nominal) -> list[str]:
    """A subject, or an object that is no pronoun."""
    if isinstance(nominal, Pronoun):
        return ["they" if nominal.plural else SUBJECT_PRONOUN.get((nominal.kind, nominal.gender), "it")]
    if isinstance(nominal, Both):
        return [*render_noun_phrase(nominal.first), "and", *render_noun_phrase(nominal.second)]
    return render_noun_phrase(nominal)


def render_noun_phrase(phrase: NounPhrase) -> list[str]:
    """Determiner, adjectives, noun, what it is part of, relative clause."""
    words = [adjective.english for adjective in phrase.adjectives]
    words.append(phrase.noun.english_plural if phrase.plural else phrase.noun.english)
    words.insert(0, choose_determiner(phrase, words[0]))
    if phrase.whole:
        words += ["of", *render_noun_phrase(phrase.whole)]
    if phrase.relative:
        words += ["who" if phrase.kind == "person" else "that", *render_clause(phrase.relative)]
    return words


def choose_determiner(phrase: NounPhrase, following: str) -> str:
    """A or an, this or these; every other determiner has one form."""
    if phrase.determiner == "a":
        return "an" if following[0] in "aeiou" else "a"
    if phrase.determiner == "this":
        return "these" if phrase.plural else "this"
    return phrase.determiner
