"""What can be wrong with a text before anybody asks what it means: marks, capitals, words."""

import re
from collections.abc import Iterator
from functools import cache

from transformer_core.corpora.grammars.stories.lexicon import FORMS
from transformer_core.corpora.grammars.stories.people import CHILDREN, FAMILY, VILLAGE
from transformer_core.corpora.grammars.stories.plots import DEEDS
from transformer_core.corpora.grammars.stories.things import LOOKS, PHRASE
from transformer_core.corpora.grammars.stories.wording import SLOT, sentences

WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)*(?:'s)?")
_PRONOUNS = "he him his she her it its they them their the a an some pair of and"
_PROPER = frozenset((*CHILDREN, *FORMS["call"].values(), "Sunday", "Sundays", "I"))


@cache
def known_words() -> frozenset[str]:
    """Every word form that a tale can have, in lower case but for names."""
    texts = [SLOT.sub(" ", wording.text) for deed in DEEDS.values() for wording in deed.says]
    texts += [text for words in FORMS.values() for text in words.values()]
    texts += [look for looks in LOOKS.values() for look in looks] + [
        *PHRASE,
        *PHRASE.values(),
        *FAMILY,
        *VILLAGE,
        _PRONOUNS,
    ]
    words = {word if word in _PROPER else word.lower() for text in texts for word in WORD.findall(text)}
    return frozenset(words | set(CHILDREN) | {f"{who}'s" for who in (*CHILDREN, *FAMILY, *VILLAGE)})


def surface_faults(text: str) -> Iterator[str]:
    """What is wrong with marks, capitals and words, a sentence each."""
    if text.count('"') % 2:
        yield "a quotation mark has no partner"
    if not re.search(r'[.!?]"?$', text):
        yield "it does not end with a full stop"
    if re.search(r"\s\s|\s[.,!?]|^\s|\s$|[.,!?][A-Za-z]|[,.!?][.,!?]", text):
        yield "a space or a mark is out of place"
    for sentence in sentences(text):
        for word in WORD.finditer(sentence):
            before = sentence[: word.start()]
            opens = before in ("", '"') or before.endswith((' "', ". ", "! ", "? "))
            name = word[0].removesuffix("'s") in _PROPER
            if opens and word[0][0].islower() and not before.endswith(', "'):
                yield f"no capital: {word[0]!r}"
            elif word[0][0].isupper() and not opens and not name:
                yield f"a capital within a sentence: {word[0]!r}"
            if word[0] not in known_words() and (word[0][0].lower() + word[0][1:]) not in known_words():
                yield f"an unknown word: {word[0]!r}"
    for article, word in re.findall(r"\b([Aa]n?) ([A-Za-z]+)", text):
        if (article.lower() == "an") != (word[0].lower() in "aeiou"):
            yield f"{article} {word}"
