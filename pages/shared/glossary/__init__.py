"""The glossary: the terms that the app names, by topic, each defined as the code computes it.

>>> TERMS["induction-score"].meaning
>>> definitions("induction-score")  # to its definition, for `prose.look_for` and others
"""

from collections.abc import Mapping

from pages.shared.glossary import (
    architecture,
    attention,
    comparing,
    decoding,
    heads,
    interventions,
    positions,
    training,
)
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TOPICS: Mapping[str, tuple[str, tuple[Term, ...]]] = {  # by their names in addresses: title and terms
    "attention": (mark("Attention"), attention.TERMS),
    "heads": (mark("Measuring heads"), heads.TERMS),
    "comparing": (mark("Comparing heads and models"), comparing.TERMS),
    "interventions": (mark("Interventions"), interventions.TERMS),
    "architecture": (mark("Architecture"), architecture.TERMS),
    "positions": (mark("Positions"), positions.TERMS),
    "tokens": (mark("Tokens"), decoding.TOKENS),
    "decoding": (mark("Decoding"), decoding.TERMS),
    "measures": (mark("Loss and accuracy"), training.MEASURES),
    "training": (mark("Training settings"), training.SETTINGS),
}
TERMS: Mapping[str, Term] = {term.name: term for _, terms in TOPICS.values() for term in terms}
