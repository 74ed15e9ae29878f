"""English to French, generated from a grammar of our own.

From words to sentences: lexicon.py, verbs.py; what makes sense: qualities.py, deeds.py; the records that a sentence is
made of: phrases.py; how the languages say them: words.py, english.py, french.py; which word depends on which:
alignment.py; how they are drawn: choices.py, clauses.py, reasons.py, relatives.py, sentences.py; which are held out:
split.py; which are translated with the other pronoun: noise.py; pairs of held-out sentences that differ in one word:
minimal_pairs.py.
"""

import random
import re
from itertools import chain

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.grammars.en_fr import english
from transformer_core.corpora.grammars.en_fr.alignment import translate
from transformer_core.corpora.grammars.en_fr.examples import EXAMPLES
from transformer_core.corpora.grammars.en_fr.noise import with_noise
from transformer_core.corpora.grammars.en_fr.sentences import draw_sentence
from transformer_core.corpora.grammars.en_fr.split import is_held_out
from transformer_core.corpora.tasks.generated import GeneratedCorpus
from transformer_core.errors import CorpusError, Message

__all__ = ["MAX_WORDS", "MIN_WORDS", "N_HELD_OUT", "N_TRAIN", "en_fr", "pronoun", "translate"]

N_TRAIN, N_HELD_OUT = 36_000, 2_000  # pairs
MAX_WORDS = 20  # of an English sentence, punctuation not counted
MIN_WORDS = 4

_IT_OR_THEY = re.compile(r"\bbecause (?:it|they)\b")
_PRONOUN = re.compile(r"\bparce qu'(il|elle|ils|elles)\b")


def _draw(seed: int) -> tuple[list[Pair], list[Pair]]:
    """Draw the pairs; the split between training and held-out combinations is the same for every seed."""
    rng = random.Random(seed)
    train: dict[str, Pair] = {}  # source: pair
    held_out: dict[str, Pair] = {}
    drawn = (draw_sentence(rng) for _ in iter(int, 1))
    for sentence in chain(EXAMPLES, drawn):
        part, size = (held_out, N_HELD_OUT) if is_held_out(sentence) else (train, N_TRAIN)
        if len(part) < size:
            pair = translate(sentence if part is held_out else with_noise(sentence))
            if MIN_WORDS <= len(pair.source.split()) <= MAX_WORDS:
                first = part.setdefault(pair.source, pair)
                if first != pair:
                    raise CorpusError(
                        "{source!r} has two translations: {one!r} and {other!r}",
                        source=pair.source,
                        one=first.target,
                        other=pair.target,
                    )
        elif len(train) == N_TRAIN and len(held_out) == N_HELD_OUT:
            break
    return list(train.values()), list(held_out.values())


def pronoun(pair: Pair, output: str) -> bool | None:
    """Whether "it" or "they" after "because" became the right one of il, elle, ils, elles; None for other sentences."""
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
        examples=tuple(english.write(english.render_sentence(sentence)) for sentence in EXAMPLES),
        tokenizer_kind="word",
        measures={"pronoun": pronoun},
    ),
    draw=_draw,
)
