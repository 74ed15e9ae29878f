"""The French words of a record: agreement, order, elision and contraction."""

from itertools import pairwise
from typing import Literal

from grammars.en_fr.lexicon import Gender, Sensation, opens_with_vowel
from grammars.en_fr.phrases import (
    WHEN,
    Action,
    Both,
    Clause,
    Existence,
    Gap,
    Link,
    Location,
    Nominal,
    NounPhrase,
    Pronoun,
    Sentence,
    State,
    Tense,
)
from grammars.en_fr.verbs import VERBS, Verb
from grammars.en_fr.words import (
    FUTURE,
    Part,
    Word,
    agreement_of,
    number_of,
    place_adverb,
    say,
    spell,
)

AVOIR, ETRE = VERBS["have"], VERBS["be"]
DEGREES = {"too": "trop", "very": "très"}
NUMERALS = {"two": "deux", "three": "trois"}
ELIDED = {"le": "l'", "la": "l'", "ne": "n'", "de": "d'", "que": "qu'"}
CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}


def render_sentence(sentence: Sentence) -> list[Word]:
    """Return the words of the French sentence, including commas and the full stop."""
    words: list[Word] = []
    for piece in sentence.pieces:
        if isinstance(piece, Link):
            words += [(word, ((piece, "comma" if word == "," else "link"),)) for word in piece.french.split()]
        elif isinstance(piece, Clause):
            words += render_clause(piece)
        else:
            words += render_existence(piece)
    words.append((".", ((sentence, "end"),)))
    return elide(words)


def write(words: list[Word]) -> str:
    """Return words as a written sentence: with a capital, without space after an apostrophe."""
    text = " ".join(spell(words)).replace("' ", "'").replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]


def elide(words: list[Word]) -> list[Word]:
    """Le, la, ne, de, que before a vowel, and si before il: "l'animal", "n'a", "qu'elle", "s'ils"."""
    result = list(words)
    for i, ((text, parts), (following, _)) in enumerate(pairwise(words)):
        if text in ELIDED and opens_with_vowel(following):
            result[i] = (ELIDED[text], parts)
        elif text == "si" and following in ("il", "ils"):
            result[i] = ("s'", parts)
    return result


def join_preposition(preposition: str, words: list[Word], *parts: Part) -> list[Word]:
    """Put a preposition before a noun phrase: "à le marché" is "au marché", but "à l'école".

    Args:
        preposition: one word or more.
        words: of the noun phrase.
        parts: what the preposition depends on; a contraction depends on its article's parts as well.
    """
    article, article_parts = words[0]
    *before, last = preposition.split()
    contracts = article == "les" or (article == "le" and not opens_with_vowel(words[1][0]))
    if contracts and (last, article) in CONTRACTED:
        return [*say(" ".join(before), *parts), (CONTRACTED[last, article], parts + article_parts), *words[1:]]
    return say(preposition, *parts) + words


def render_clause(clause: Clause) -> list[Word]:
    """Subject, clitics and verb, objects, place, time."""
    words = [] if isinstance(clause.subject, Gap) else render_nominal(clause.subject)
    words += (
        render_action(clause, clause.predicate)
        if isinstance(clause.predicate, Action)
        else render_state(clause, clause.predicate)
    )
    return with_adverbs(words, clause)


def render_existence(existence: Existence) -> list[Word]:
    """Il y a un chat dans le jardin; il n'y avait pas de chat."""
    there, negation = (existence, "there"), (existence, "negation")
    verb = ("a" if existence.tense == "present" else "avait", (there, (existence, "verb")))
    if existence.polarity == "yes":
        words = [*say("il y", there), verb, *render_noun_phrase(existence.what)]
    else:
        words = [*say("il", there), *say("ne", negation), *say("y", there), verb, *say("pas", negation)]
        words += render_noun_phrase(existence.what, negation)
    return with_adverbs(words, existence)


def with_adverbs(words: list[Word], clause: Clause | Existence) -> list[Word]:
    """Add place and time."""
    if clause.location:
        words = place_adverb(clause.location, render_location(clause.location), words)
    if clause.time:
        words = place_adverb(clause.time, say(clause.time.french, (clause.time, "time")), words)
    return words


def render_location(location: Location) -> list[Word]:
    """Dans le jardin, près du lac."""
    return join_preposition(location.french, render_noun_phrase(location.place), (location, "preposition"))


def render_state(clause: Clause, state: State) -> list[Word]:
    """Était trop large; n'avait pas faim."""
    quality, subject = (clause, "quality"), clause.subject
    word: Word
    if isinstance(state.quality, Sensation):
        words = render_verb_group(clause, AVOIR, ((clause, "verb"), quality))  # "avait" for "was", because of "faim"
        word = (state.quality.french, (quality,))
    else:
        words = render_verb_group(clause, ETRE, ((clause, "verb"),))
        word = (state.quality.french(subject.gender, subject.plural), (quality, *agreement_of(subject)))
    if state.degree:
        words.append((DEGREES[state.degree], ((clause, "degree"),)))
    words.append(word)
    return words


def render_action(clause: Clause, action: Action) -> list[Word]:
    """Verb, object, recipient. Under negation an indefinite direct object takes de: "n'a pas mangé de pomme"."""
    words = render_verb_group(clause, action.verb, ((clause, "verb"),), action)
    preposition = action.verb.french_preposition
    if isinstance(action.object, (NounPhrase, Both)):
        if preposition:
            words += join_preposition(preposition, render_nominal(action.object), (clause, "preposition"))
        else:
            words += render_nominal(action.object, None if clause.polarity == "yes" else (clause, "negation"))
    if action.recipient:
        words += join_preposition("à", render_noun_phrase(action.recipient), (action, "to"))
    return words


def render_verb_group(clause: Clause, verb: Verb, parts: tuple[Part, ...], action: Action | None = None) -> list[Word]:
    """Ne, clitic object, finite verb, pas or jamais, and the non-finite form.

    Args:
        clause: with subject, tense and polarity.
        verb: être or avoir with a quality, else the verb of the action.
        parts: on which the verb and its tense depend.
        action: with a modal, and the object that precedes the verb.
    """
    tense, subject = clause.tense, clause.subject
    target, modal = (action.object, action.modal) if action else (None, None)
    clitic: list[Word] = []
    if isinstance(target, Pronoun) and not isinstance(target, Gap):
        clitic = [(object_pronoun(target), agreement_of(target))]
    by_subject = number_of(subject)
    if tense == "future_after_when":
        by_subject += ((WHEN, "link"), FUTURE)
    if modal:
        finite = (inflect(modal, tense, subject.plural), ((clause, "modal"), *by_subject))
        group, rest = [finite], [*clitic, (verb.infinitive, parts)]
    elif tense == "past" and verb.aspect != "state":
        auxiliary = ETRE if verb.auxiliary == "être" else AVOIR
        agrees = subject if auxiliary is ETRE else target if isinstance(target, Pronoun) else None
        group = [*clitic, (inflect(auxiliary, "present", subject.plural), parts + by_subject)]
        rest = [(participle(verb, agrees), parts + agreement_of(agrees) if agrees else parts)]
    else:
        group, rest = [*clitic, (inflect(verb, tense, subject.plural), parts + by_subject)], []
    if clause.polarity == "yes":
        return group + rest
    negation = ((clause, "negation"),)
    return [("ne", negation), *group, ("jamais" if clause.polarity == "never" else "pas", negation), *rest]


def inflect(verb: Verb, tense: Tense, plural: bool) -> str:
    """The finite form of the third person. The past of a state and the past progressive are in the imparfait."""
    if tense in ("future", "future_after_when"):
        return verb.future + ("ont" if plural else "a")
    if tense in ("past", "past_progressive"):
        return verb.imparfait + ("aient" if plural else "ait")
    return verb.present_plural if plural else verb.present


def participle(verb: Verb, agrees: Nominal | None) -> str:
    """The past participle: it agrees with the subject of être, and with an object that comes before avoir."""
    return agree(verb.participle, agrees.gender, agrees.plural) if agrees else verb.participle


def agree(participle: str, gender: Gender, plural: bool) -> str:
    """A regular participle with its endings."""
    return participle + ("e" if gender == "f" else "") + ("s" if plural else "")


def object_pronoun(pronoun: Pronoun) -> str:
    """Le, la, les."""
    return "les" if pronoun.plural else "le" if pronoun.gender == "m" else "la"


def render_nominal(nominal: Nominal, negation: Part | None = None) -> list[Word]:
    """A subject, or an object other than a pronoun."""
    if isinstance(nominal, Pronoun):
        text = ("il" if nominal.gender == "m" else "elle") + ("s" if nominal.plural else "")
        return [(text, agreement_of(nominal))]
    if isinstance(nominal, Both):
        joined = ("et", ((nominal, "and"),))
        return [*render_noun_phrase(nominal.first), joined, *render_noun_phrase(nominal.second)]
    return render_noun_phrase(nominal, negation)


def render_noun_phrase(phrase: NounPhrase, negation: Part | None = None) -> list[Word]:
    """Determiner, adjectives before the noun, noun, the other adjectives, and its complements.

    Args:
        phrase: to render.
        negation: the negation of the clause if the phrase is its indefinite direct object.
    """
    noun = phrase.noun.french_plural if phrase.plural else phrase.noun.french
    words: list[Word] = [(noun, ((phrase, "noun"),))]
    if phrase.adjectives:
        words = render_adjectives(phrase, "before", noun) + words + render_adjectives(phrase, "after", noun)
    words = render_determiner(phrase, words[0][0], noun, negation) + words
    if phrase.whole:
        words += join_preposition("de", render_noun_phrase(phrase.whole), (phrase, "of"))
    if phrase.relative:
        words += render_relative(phrase, phrase.relative)
    return words


def render_adjectives(phrase: NounPhrase, position: Literal["before", "after"], noun: str) -> list[Word]:
    """The adjectives of a phrase before its noun, at most one, or those after it."""
    vowel = position == "before" and phrase.gender == "m" and not phrase.plural and opens_with_vowel(noun)
    return [
        (
            adjective.before_vowel if vowel else adjective.french(phrase.gender, phrase.plural),
            ((phrase, adjective.english), (phrase, "noun")),
        )
        for adjective in phrase.adjectives
        if adjective.position == position
    ]


def render_determiner(phrase: NounPhrase, following: str, noun: str, negation: Part | None) -> list[Word]:
    """The determiner of a phrase; `following`: the first adjective before the noun, or the noun."""
    negated, in_front = negation is not None, following != noun
    chosen = choose_determiner(phrase, following, in_front, negated)
    if phrase.determiner in NUMERALS:
        return [(chosen, ((phrase, "determiner"),))]
    parts: tuple[Part, ...] = ((phrase, "determiner"), (phrase, "noun"))
    if negation and chosen == "de":
        parts += (negation,)
    if in_front:
        bare = choose_determiner(phrase, noun, False, negated)
        if elide_before(following, chosen) != elide_before(noun, bare):  # "le petit animal", but "l'animal"
            parts += tuple((phrase, each.english) for each in phrase.adjectives if each.position == "before")
    return say(chosen, *parts)


def elide_before(following: str, determiner: str) -> str:
    """A determiner, with elision, before a word."""
    *before, last = determiner.split()
    return " ".join([*before, ELIDED[last] if last in ELIDED and opens_with_vowel(following) else last])


def choose_determiner(phrase: NounPhrase, following: str, adjective_in_front: bool, negated: bool) -> str:
    """The determiner that agrees; du, de la, de l' with substances; de under negation and before a plural adjective."""
    masculine, vowel = phrase.gender == "m", opens_with_vowel(following)
    match phrase.determiner:
        case "the":
            return "les" if phrase.plural else "le" if masculine else "la"
        case "any":
            return "de"
        case "a" if negated:
            return "de"
        case "a":
            return "un" if masculine else "une"
        case "some" if phrase.plural:
            return "de" if adjective_in_front else "des"
        case "some":
            return "du" if masculine and not vowel else "de la" if not vowel else "de l'"
        case "this":
            return "ces" if phrase.plural else "cette" if not masculine else "cet" if vowel else "ce"
        case "his" | "her":
            return "ses" if phrase.plural else "son" if masculine or vowel else "sa"
        case "their":
            return "leurs" if phrase.plural else "leur"
        case "two" | "three":
            return NUMERALS[phrase.determiner]


def render_relative(phrase: NounPhrase, clause: Clause) -> list[Word]:
    """Qui for a subject, que for an object."""
    word = ("qui" if isinstance(clause.subject, Gap) else "que", ((phrase, "relative"),))
    return [word, *render_clause(clause)]
