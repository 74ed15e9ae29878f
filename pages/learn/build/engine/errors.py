"""What is wrong with a line that a learner wrote."""

from transformer_core.errors import HeadlightError


class LineError(HeadlightError):
    """A line that cannot be read, asks for something that is not allowed, or does not fit its variables."""
