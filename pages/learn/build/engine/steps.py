"""The paper's attention in twelve lines.

Lines 1 to 9 are one head, line 10 is equation (1) for all heads at once, and lines 11 and 12 are the rest of multi-head
attention.

Source: Vaswani et al. 2017, sec. 3.2.1, eq. (1), and sec. 3.2.2.
"""

from functools import cache

from pages.learn.build.engine.all_heads import all_heads
from pages.learn.build.engine.pattern import scores, softmax
from pages.learn.build.engine.projections import projections
from pages.learn.build.engine.step import Step, Variant

N_OF_ONE_HEAD = 9  # lines that compute one head


@cache
def steps_of(variant: Variant) -> tuple[Step, ...]:
    """Return the twelve steps of an attention."""
    return (*projections(variant), *scores(variant), *softmax(variant), *all_heads(variant))
