"""Label noise: in one sentence of ten, in training only, French has the other pronoun, and everything agrees with it.

Without noise, the noun alone would determine the ending of an adjective, and a model would not need to attend to the
pronoun that it has written. With it, "fatigué" follows "il" and "fatiguée" follows "elle", whatever the source: if you
force the other pronoun, the rest changes with it.
"""

import hashlib
from dataclasses import replace

from grammars.en_fr import english
from grammars.en_fr.examples import EXAMPLES
from grammars.en_fr.phrases import Clause, Pronoun, Sentence

NOISE_SHARE = 10  # one of this many sentences that can have noise


def with_noise(sentence: Sentence) -> Sentence:
    """Return the sentence for training, with or without noise, depending only on its English words."""
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
