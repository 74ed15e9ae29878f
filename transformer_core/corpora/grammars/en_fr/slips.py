"""Slips: now and then, in training only, French takes the other pronoun, and all that agrees with it follows.

Without them the noun alone would tell how an adjective ends, and a model need not look at the pronoun that it has
written. With them "fatigué" follows "il" and "fatiguée" follows "elle", whatever stands before: whoever makes a model
write the other pronoun sees what comes after change with it.
"""

import hashlib
from dataclasses import replace

from transformer_core.corpora.grammars.en_fr import english
from transformer_core.corpora.grammars.en_fr.examples import EXAMPLES
from transformer_core.corpora.grammars.en_fr.phrases import Clause, Pronoun, Sentence

SLIP_SHARE = 10  # one in so many sentences that could have one


def with_slip(sentence: Sentence) -> Sentence:
    """Return the sentence as training has it: by its English words, so that it is the same whenever it is drawn."""
    *before, last = sentence.pieces
    if sentence.kind != "because" or sentence in EXAMPLES or not isinstance(last, Clause):
        return sentence
    pronoun = last.subject
    if not isinstance(pronoun, Pronoun) or pronoun.kind == "person":
        return sentence
    digest = hashlib.sha256(english.write(english.render_sentence(sentence)).encode()).digest()
    if digest[0] * 256 + digest[1] >= 65536 // SLIP_SHARE:
        return sentence
    return replace(sentence, pieces=(*before, replace(last, subject=replace(pronoun, is_slip=True))))
