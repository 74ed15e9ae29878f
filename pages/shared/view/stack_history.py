"""The stacks of interventions of this session that gave way to others, by a person's hand or by a link."""

from pages.shared.view.fields import Kept

MOST_STEPS = 100  # that can be undone
UNDONE, DONE = Kept("interventions-undone", ()), Kept("interventions-done", ())  # the latest is the last


def keep(stack: str) -> None:
    """Let a stack, as JSON, be had again after another took its place."""
    DONE.set((*DONE.value, stack)[-MOST_STEPS:])
    UNDONE.set(())
