"""What defines the view of the Build page, beside model, text and head; and the lines, kept in the session."""

from headlight.analysis.heads.measures import HeadName
from pages.learn.steps import view_fields as steps_fields
from pages.shared.models import ModelCard
from pages.shared.view.fields import Field, Kept, whole

PAGE = "build"
N_STEPS = 12
STEP = Field(PAGE, "step", 1, whole(range(1, N_STEPS + 1)))  # the open step, from 1
FIELDS: tuple[Field, ...] = (STEP,)
LINES = tuple(Kept(f"build-line-{place + 1}", "") for place in range(N_STEPS))  # the learner's lines


def usual_head(card: ModelCard) -> HeadName:
    """Return a head whose mask hides something: the first of the decoder's self-attention, where there is one."""
    return HeadName("decoder", 0, 0) if "decoder" in card.attentions else steps_fields.usual_head(card)
