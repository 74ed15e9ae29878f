"""English sentences with their French translations, and the words that truly correspond.

From words to sentences: lexicon.py, verbs.py; what makes sense: qualities.py, deeds.py; the records that a sentence
consists of: phrases.py; their words in each language: words.py, english.py, french.py; which word depends on which:
alignment.py; how sentences are drawn: choices.py, clauses.py, reasons.py, relatives.py, sentences.py; which are held
out: split.py; which are translated with the other pronoun: noise.py; pairs of held-out sentences that differ in one
word: minimal_pairs.py.
"""

import random
from itertools import chain

from grammars.en_fr.alignment import translate
from grammars.en_fr.examples import EXAMPLES
from grammars.en_fr.noise import with_noise
from grammars.en_fr.sentences import draw_sentence
from grammars.en_fr.split import is_held_out
from transformer_core.corpora.corpus import Pair

__all__ = ["MAX_WORDS", "MIN_WORDS", "N_HELD_OUT", "N_TRAIN", "draw", "translate"]

N_TRAIN, N_HELD_OUT = 36_000, 2_000  # pairs
MAX_WORDS = 20  # of an English sentence, punctuation not counted
MIN_WORDS = 4


def draw(seed: int, n_train: int = N_TRAIN, n_held_out: int = N_HELD_OUT) -> tuple[list[Pair], list[Pair]]:
    """Draw the pairs to train on and the held-out ones; the held-out combinations are the same for every seed.

    Args:
        seed: of the draw.
        n_train: pairs to train on; with fewer, the first ones are the same.
        n_held_out: the same of held-out pairs.

    Raises:
        ValueError: a sentence has two translations.
    """
    rng = random.Random(seed)
    train: dict[str, Pair] = {}  # source: pair
    held_out: dict[str, Pair] = {}
    drawn = (draw_sentence(rng) for _ in iter(int, 1))
    for sentence in chain(EXAMPLES, drawn):
        part, size = (held_out, n_held_out) if is_held_out(sentence) else (train, n_train)
        if len(part) < size:
            pair = translate(sentence if part is held_out else with_noise(sentence))
            if MIN_WORDS <= len(pair.source.split()) <= MAX_WORDS:
                first = part.setdefault(pair.source, pair)
                if first != pair:
                    raise ValueError(f"{pair.source!r} has two translations: {first.target!r} and {pair.target!r}")
        elif len(train) == n_train and len(held_out) == n_held_out:
            break
    return list(train.values()), list(held_out.values())
