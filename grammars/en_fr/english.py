"""The English words of a record."""

from grammars.en_fr.phrases import (
    Action,
    Both,
    Clause,
    Existence,
    Gap,
    Link,
    Location,
    Nominal,
    NounPhrase,
    Polarity,
    Pronoun,
    Sentence,
    Tense,
)
from grammars.en_fr.verbs import VERBS, Verb
from grammars.en_fr.words import FUTURE, Part, Word, place_adverb, say, spell

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


def render_sentence(sentence: Sentence) -> list[Word]:
    """Return the words of the English sentence, including commas and the full stop."""
    words: list[Word] = []
    for piece in sentence.pieces:
        if isinstance(piece, Link):
            words += [(word, ((piece, "comma" if word == "," else "link"),)) for word in piece.english.split()]
        elif isinstance(piece, Clause):
            words += render_clause(piece)
        else:
            words += render_existence(piece)
    words.append((".", ((sentence, "end"),)))
    return words


def write(words: list[Word]) -> str:
    """Return words as a written sentence: with a capital, without space before a comma or a full stop."""
    text = " ".join(spell(words)).replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]


def render_clause(clause: Clause) -> list[Word]:
    """Subject, verb, objects, place, time."""
    words = [] if isinstance(clause.subject, Gap) else render_nominal(clause.subject)
    predicate = clause.predicate
    if isinstance(predicate, Action):
        words += render_action(clause, predicate)
    else:
        words += render_verb_group((clause, "verb"), BE, clause.tense, clause.polarity, clause.subject.plural)
        if predicate.degree:
            words.append((predicate.degree, ((clause, "degree"),)))
        words.append((predicate.quality.english, ((clause, "quality"),)))
    return with_adverbs(words, clause)


def render_existence(existence: Existence) -> list[Word]:
    """There is a cat in the garden."""
    verb = (existence, "verb")
    words = [
        ("there", ((existence, "there"),)),
        *render_verb_group(verb, BE, existence.tense, existence.polarity, existence.what.plural),
        *render_noun_phrase(existence.what),
    ]
    return with_adverbs(words, existence)


def with_adverbs(words: list[Word], clause: Clause | Existence) -> list[Word]:
    """Add place and time."""
    if clause.location:
        words = place_adverb(clause.location, render_location(clause.location), words)
    if clause.time:
        words = place_adverb(clause.time, say(clause.time.english, (clause.time, "time")), words)
    return words


def render_location(location: Location) -> list[Word]:
    """In the garden."""
    return say(location.english, (location, "preposition")) + render_noun_phrase(location.place)


def render_action(clause: Clause, action: Action) -> list[Word]:
    """Verb, object, recipient; with a modal, the verb is its infinitive: "wants to cross", "can cross"."""
    verb = (clause, "verb")
    tense, polarity, plural = clause.tense, clause.polarity, clause.subject.plural
    if action.modal:
        words = render_verb_group((clause, "modal"), action.modal, tense, polarity, plural)
        words += say(action.verb.base if action.modal is CAN else f"to {action.verb.base}", verb)
    else:
        words = render_verb_group(verb, action.verb, tense, polarity, plural)
    if action.verb.english_preposition:
        words.append((action.verb.english_preposition, ((clause, "preposition"),)))
    elif action.verb.french_preposition:  # "entered" is one word, "est entré dans" has a preposition
        word, parts = words[-1]
        words[-1] = (word, (*parts, (clause, "preposition")))
    if isinstance(action.object, Pronoun):
        if not isinstance(action.object, Gap):
            words.append(("them" if action.object.plural else "it", ((action.object, "pronoun"),)))
    elif action.object:
        words += render_nominal(action.object)
    if action.recipient:
        words.append(("to", ((action, "to"),)))
        words += render_noun_phrase(action.recipient)
    return words


def render_verb_group(part: Part, verb: Verb, tense: Tense, polarity: Polarity, plural: bool) -> list[Word]:
    """Auxiliary, negation and verb: "crosses", "did not cross", "is crossing", "will never cross".

    Args:
        part: the part of the record that this verb expresses.
        verb: to inflect.
        tense: of the clause.
        polarity: yes, or a kind of negation.
        plural: the subject is plural.
    """
    auxiliary, form = auxiliary_and_form(verb, tense, plural)
    negation = (part[0], "negation")
    parts = (part, FUTURE) if tense == "future" else (part,)
    if polarity == "never":
        return [*say(auxiliary, *parts), ("never", (negation,)), *say(form, part)]
    if polarity != "yes":
        if not auxiliary:
            auxiliary, form = "did" if tense == "past" else "do" if plural else "does", verb.base
        first, *apart = NEGATIVE[auxiliary][polarity == "n't"].split()
        first_parts = parts if apart else (*parts, negation)  # "didn't" and "cannot" are one word for both
        return [(first, first_parts), *((word, (negation,)) for word in apart), *say(form, part)]
    return [*say(auxiliary, *parts), *say(form, part)]


def auxiliary_and_form(verb: Verb, tense: Tense, plural: bool) -> tuple[str, str]:
    """Return the auxiliary ("" if there is none) and the form of the verb after it."""
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


def render_nominal(nominal: Nominal) -> list[Word]:
    """A subject, or an object other than a pronoun."""
    if isinstance(nominal, Pronoun):
        text = "they" if nominal.plural else SUBJECT_PRONOUN.get((nominal.kind, nominal.gender), "it")
        return [(text, ((nominal, "pronoun"),))]
    if isinstance(nominal, Both):
        joined = ("and", ((nominal, "and"),))
        return [*render_noun_phrase(nominal.first), joined, *render_noun_phrase(nominal.second)]
    return render_noun_phrase(nominal)


def render_noun_phrase(phrase: NounPhrase) -> list[Word]:
    """Determiner, adjectives, noun, what it is part of, relative clause."""
    noun = phrase.noun.english_plural if phrase.plural else phrase.noun.english
    following = phrase.adjectives[0].english if phrase.adjectives else noun
    words: list[Word] = [(choose_determiner(phrase, following), ((phrase, "determiner"),))]
    for adjective in phrase.adjectives:
        words.append((adjective.english, ((phrase, adjective.english),)))
    words.append((noun, ((phrase, "noun"),)))
    if phrase.whole:
        words.append(("of", ((phrase, "of"),)))
        words += render_noun_phrase(phrase.whole)
    if phrase.relative:
        words.append(("who" if phrase.kind == "person" else "that", ((phrase, "relative"),)))
        words += render_clause(phrase.relative)
    return words


def choose_determiner(phrase: NounPhrase, following: str) -> str:
    """A or an, this or these; every other determiner has one form."""
    if phrase.determiner == "a":
        return "an" if following[0] in "aeiou" else "a"
    if phrase.determiner == "this":
        return "these" if phrase.plural else "this"
    return phrase.determiner
