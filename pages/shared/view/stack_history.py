"""The stacks of interventions of this session that the user or a link replaced."""

from pages.shared.view.fields import Kept

MOST_STEPS = 100  # that can be undone
UNDONE, DONE = Kept("interventions-undone", ()), Kept("interventions-done", ())  # the latest is the last


def keep(stack: str) -> None:
    """Keep a stack, as JSON, so that it can be restored after another has replaced it."""
    DONE.set((*DONE.value, stack)[-MOST_STEPS:])
    UNDONE.set(())
