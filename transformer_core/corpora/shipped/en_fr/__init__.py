"""English to French, from a grammar: `grammars.en_fr` explains the alignments and what is held out."""

import re

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.corpora.shipped.items import shipped
from transformer_core.errors import Message

_IT_OR_THEY = re.compile(r"\bbecause (?:it|they)\b")
_PRONOUN = re.compile(r"\bparce qu'(il|elle|ils|elles)\b")


def pronoun(pair: Pair, output: str) -> bool | None:
    """Return True if "it" or "they" after "because" was translated as the correct pronoun: il, elle, ils or elles.

    Return None for sentences without such a pronoun.
    """
    expected = _PRONOUN.search(pair.target)
    if not expected or not _IT_OR_THEY.search(pair.source):
        return None
    match = _PRONOUN.search(output)
    return match is not None and match[1] == expected[1]


en_fr = GeneratedCorpus(
    about=Corpus(
        name="en-fr",
        title="English to French",
        description=Message("English sentences with French translations, generated from a small grammar."),
        examples=(
            "The animal didn't cross the street because it was too tired.",
            "The animal didn't cross the street because it was too wide.",
            "The cows didn't cross the bridges because they were too tired.",
            "The cows didn't cross the bridges because they were too slippery.",
            "The small black dog followed a beautiful white bird.",
            "The king and the queen came back from the market.",
            "The letter that the queen wrote was long.",
            "The red box was too heavy, so the girl didn't carry it.",
            "The goat found the apple, but it didn't eat it.",
            "The dog will bark when it sees the cat.",
        ),
        tokenizer_kind="word",
        measures={"pronoun": pronoun},
    ),
    draw=shipped("en-fr"),
)
