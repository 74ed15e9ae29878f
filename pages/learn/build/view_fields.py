"""What defines the view of the Build page, beside model, text and head; and the lines, kept in the session."""

import re

from headlight.language import say
from pages.shared.view.fields import Field, Kept

PAGE = "build"
N_STEPS = 12


def _step(text: str) -> int:
    """Read which step is open.

    Raises:
        ValueError: there is no such step.
    """
    if not re.fullmatch(r"[1-9]|1[0-2]", text):
        raise ValueError(say("it must be a number from {lowest:g} to {highest:g}", lowest=1, highest=N_STEPS))
    return int(text)


STEP = Field(PAGE, "step", 1, _step)  # the open one, from 1
FIELDS: tuple[Field, ...] = (STEP,)
LINES = tuple(Kept(f"build-line-{place + 1}", "") for place in range(N_STEPS))  # what the learner wrote
