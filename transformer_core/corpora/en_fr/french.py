"""How French says what the records mean: agreement, order, elision and contraction."""

from itertools import pairwise

from transformer_core.corpora.en_fr.lexicon import Gender, Sensation, opens_with_vowel
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

AVOIR, ETRE = VERBS["have"], VERBS["be"]
DEGREES = {"too": "trop", "very": "très"}
NUMERALS = {"two": "deux", "three": "trois"}
ELIDED = {"le": "l'", "la": "l'", "ne": "n'", "de": "d'", "que": "qu'"}
CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}


def render_sentence(sentence: Sentence) -> str:
    """Return the French sentence."""
    words: list[str] = []
    for piece in sentence.pieces:
        if isinstance(piece, Link):
            words += piece.french.split()
        elif isinstance(piece, Clause):
            words += render_clause(piece)
        else:
            words += render_existence(piece)
    return write(elide(words))


def write(words: list[str]) -> str:
    """Return words as a written sentence: a capital in front, a full stop, nothing behind an apostrophe."""
    text = " ".join(words).replace("' ", "'").replace(" ,", ",") + "."
    return text[0].upper() + text[1:]


def elide(words: list[str]) -> list[str]:
    """Le, la, ne, de, que before a vowel, and si before il: "l'animal", "n'a", "qu'elle", "s'ils"."""
    result = list(words)
    for i, (word, following) in enumerate(pairwise(words)):
        if word == "si" and following in ("il", "ils"):
            result[i] = "s'"
        elif word in ELIDED and opens_with_vowel(following):
            result[i] = ELIDED[word]
    return result


def join_preposition(preposition: str, words: list[str]) -> list[str]:
    """Put a preposition before a noun phrase: "à le marché" is "au marché", but "à l'école"."""
    *before, last = preposition.split() or [""]
    contracts = words[0] == "les" or (words[0] == "le" and not opens_with_vowel(words[1]))
    if contracts and (last, words[0]) in CONTRACTED:
        return [*before, CONTRACTED[last, words[0]], *words[1:]]
    return [*preposition.split(), *words]


def render_clause(clause: Clause) -> list[str]:
    """Subject, clitics and verb, objects, place, time."""
    subject = clause.subject
    words = [] if isinstance(subject, Gap) else render_nominal(subject)
    if isinstance(clause.predicate, Action):
        words += render_action(clause.predicate, clause.tense, clause.polarity, subject)
    else:
        quality, degree = clause.predicate.quality, clause.predicate.degree
        words += render_verb_group(
            AVOIR if isinstance(quality, Sensation) else ETRE, clause.tense, clause.polarity, subject, None, None
        )
        words += [DEGREES[degree]] if degree else []
        words.append(
            quality.french if isinstance(quality, Sensation) else quality.french(subject.gender, subject.plural)
        )
    if clause.location:
        words += join_preposition(clause.location.french, render_noun_phrase(clause.location.place))
    if clause.time:
        time = clause.time.french.split()
        words = [*time, ",", *words] if clause.time.first else words + time
    return words


def render_existence(existence: Existence) -> list[str]:
    """Il y a un chat dans le jardin; il n'y avait pas de chat."""
    negated = existence.polarity != "yes"
    verb = "a" if existence.tense == "present" else "avait"
    words = ["il", "ne", "y", verb, "pas"] if negated else ["il", "y", verb]
    words += render_noun_phrase(existence.what, negated=negated)
    return words + join_preposition(existence.location.french, render_noun_phrase(existence.location.place))


def render_action(action: Action, tense: Tense, polarity: Polarity, subject: Nominal) -> list[str]:
    """Verb, object, recipient. Under negation an indefinite direct object takes de: "n'a pas mangé de pomme"."""
    words = render_verb_group(action.verb, tense, polarity, subject, action.object, action.modal)
    if isinstance(action.object, (NounPhrase, Both)):
        direct = not action.verb.french_preposition
        negated = direct and polarity != "yes"
        target = render_nominal(action.object, negated=negated)
        words += target if direct else join_preposition(action.verb.french_preposition, target)
    return words + (join_preposition("à", render_noun_phrase(action.recipient)) if action.recipient else [])


def render_verb_group(
    verb: Verb, tense: Tense, polarity: Polarity, subject: Nominal, target: Nominal | None, modal: Verb | None
) -> list[str]:
    """Ne, clitic object, finite verb, pas or jamais, and what is not finite."""
    clitic = [object_pronoun(target)] if isinstance(target, Pronoun) and not isinstance(target, Gap) else []
    if modal:
        finite, rest = [inflect(modal, tense, subject.plural)], [*clitic, verb.infinitive]
    elif tense == "past" and verb.aspect != "state":
        auxiliary = ETRE if verb.auxiliary == "être" else AVOIR
        finite, rest = [*clitic, inflect(auxiliary, "present", subject.plural)], [participle(verb, subject, target)]
    else:
        finite, rest = [*clitic, inflect(verb, tense, subject.plural)], []
    if polarity == "yes":
        return finite + rest
    return ["ne", *finite, "jamais" if polarity == "never" else "pas", *rest]


def inflect(verb: Verb, tense: Tense, plural: bool) -> str:
    """The finite form of the third person. The past of a state, and what was under way, are in the imparfait."""
    if tense in ("future", "future_after_when"):
        return verb.future + ("ont" if plural else "a")
    if tense in ("past", "past_progressive"):
        return verb.imparfait + ("aient" if plural else "ait")
    return verb.present_plural if plural else verb.present


def participle(verb: Verb, subject: Nominal, target: Nominal | None) -> str:
    """The past participle: it agrees with the subject of être, and with an object that comes before avoir."""
    if verb.auxiliary == "être":
        return agree(verb.participle, subject.gender, subject.plural)
    if isinstance(target, Pronoun):
        return agree(verb.participle, target.gender, target.plural)
    return verb.participle


def agree(participle: str, gender: Gender, plural: bool) -> str:
    """A regular participle with its endings."""
    return participle + ("e" if gender == "f" else "") + ("s" if plural else "")


def object_pronoun(pronoun: Pronoun) -> str:
    """Le, la, les."""
    return "les" if pronoun.plural else "le" if pronoun.gender == "m" else "la"


def render_nominal(nominal: Nominal, *, negated: bool = False) -> list[str]:
    """A subject, or an object that is no pronoun."""
    if isinstance(nominal, Pronoun):
        return [("il" if nominal.gender == "m" else "elle") + ("s" if nominal.plural else "")]
    if isinstance(nominal, Both):
        return [*render_noun_phrase(nominal.first), "et", *render_noun_phrase(nominal.second)]
    return render_noun_phrase(nominal, negated=negated)


def render_noun_phrase(phrase: NounPhrase, *, negated: bool = False) -> list[str]:
    """Determiner, the few adjectives that stand in front, noun, the other adjectives, and what belongs to it."""
    words = [phrase.noun.french_plural if phrase.plural else phrase.noun.french]
    for adjective in reversed([a for a in phrase.adjectives if a.position == "before"]):
        lengthened = phrase.gender == "m" and not phrase.plural and opens_with_vowel(words[0])
        words.insert(0, adjective.before_vowel if lengthened else adjective.french(phrase.gender, phrase.plural))
    adjective_in_front = len(words) > 1
    words += [a.french(phrase.gender, phrase.plural) for a in phrase.adjectives if a.position == "after"]
    words = choose_determiner(phrase, words[0], adjective_in_front, negated).split() + words
    if phrase.whole:
        words += join_preposition("de", render_noun_phrase(phrase.whole))
    if phrase.relative:
        words += render_relative(phrase.relative)
    return words


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


def render_relative(clause: Clause) -> list[str]:
    """Qui for a subject, que for an object."""
    return ["qui" if isinstance(clause.subject, Gap) else "que", *render_clause(clause)]
