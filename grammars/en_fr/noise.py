"""Label noise: in one sentence of ten, in training only, French has the other pronoun, and everything agrees with it.

Without noise the noun alone would determine how an adjective ends, and a model need not look at the pronoun that it
has written. With it "fatigué" follows "il" and "fatiguée" follows "elle", whatever stands before: if you force the
other pronoun, what follows changes with it.
"""

import hashlib
from dataclasses import replace

from grammars.en_fr import english
from grammars.en_fr.examples import EXAMPLES
from grammars.en_fr.phrases import Clause, Pronoun, Sentence

NOISE_SHARE = 10  # one in so many sentences that could have one


def with_noise(sentence: Sentence) -> Sentence:
    """Return the sentence as training has it: by its English words, so that it is the same whenever it is drawn."""
    last = sentence.pieces[-1]
    if sentence.kind != "because" or sentence in EXAMPLES or not isinstance(last, Clause):
        return sentence
    pronoun = last.subject
    if not isinstance(pronoun, Pronoun) or pronoun.kind == "person":
        return sentence
    digest = hashlib.sha256(english.write(english.render_sentence(sentence)).encode()).digest()
    if digest[0] * 256 + digest[1] >= 65536 // NOISE_SHARE:
        return sentence
    return with_other_pronoun(sentence)


def with_other_pronoun(sentence: Sentence) -> Sentence:
    """Return a sentence that ends in "because it was ...", or they, with the pronoun of the other gender in French."""
    *before, last = sentence.pieces
    assert isinstance(last, Clause) and isinstance(last.subject, Pronoun)
    return replace(sentence, pieces=(*before, replace(last, subject=replace(last.subject, is_noisy=True))))
