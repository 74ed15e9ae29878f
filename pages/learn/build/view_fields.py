"""What defines the view of the Build page, beside model, text and head; and the lines, kept in the session."""

from pages.shared.view.fields import Field, Kept, whole

PAGE = "build"
N_STEPS = 12
STEP = Field(PAGE, "step", 1, whole(range(1, N_STEPS + 1)))  # the open step, from 1
FIELDS: tuple[Field, ...] = (STEP,)
LINES = tuple(Kept(f"build-line-{place + 1}", "") for place in range(N_STEPS))  # the learner's lines
