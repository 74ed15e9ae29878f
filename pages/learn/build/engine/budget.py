"""What one run of a learner's line may take; each operation asks before it allocates or computes anything.

Numbers and products are counted, not seconds: a line that is refused is refused on every machine, and what is allowed
takes about a second at most on one core.
"""

from collections.abc import Sequence
from math import prod

from pages.learn.build.engine.errors import LineError
from transformer_core.errors import mark

MOST_NUMBERS = 1 << 22  # of one array: 32 MiB
MOST_NUMBERS_TOGETHER = 1 << 24  # of all arrays of a run
MOST_PRODUCTS = 1 << 31  # of all matrix products of a run
MOST_AXES = 6
TOO_LARGE = mark(
    "this would make an array of shape {shape}; an array may have at most {most:,} numbers and {axes} dimensions"
)


class Budget:
    """Counts what a run has taken.

    Attributes:
        n_numbers: of all arrays so far.
        n_products: of all matrix products so far.
    """

    def __init__(self, n_lines: int = 1) -> None:
        """Start with nothing taken, and with what so many lines may take."""
        self._n_lines = n_lines
        self.n_numbers = 0
        self.n_products = 0

    def take(self, shape: Sequence[int], n_products: int = 0) -> None:
        """Take an array of this shape, and the products that are summed into it.

        Raises:
            LineError: it is too large, or the run has taken too much.
        """
        size = prod(n for n in shape if n)  # NumPy refuses an empty array, too, if the other sizes are too large
        if size > MOST_NUMBERS or len(shape) > MOST_AXES:
            raise LineError(TOO_LARGE, shape=str([*shape])[:60], most=MOST_NUMBERS, axes=MOST_AXES)
        n_numbers, all_products = self.n_numbers + size, self.n_products + n_products
        if n_numbers > self._n_lines * MOST_NUMBERS_TOGETHER or all_products > self._n_lines * MOST_PRODUCTS:
            raise LineError("this line computes too much; use fewer or smaller operations")
        self.n_numbers, self.n_products = n_numbers, all_products
