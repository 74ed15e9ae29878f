"""The fields of the Interventions page: what is added, and which effects are shown."""

from collections.abc import Sequence

from headlight.analysis.interventions.records import InterventionStack, StackEntry
from headlight.analysis.interventions.stacks import from_json, to_json
from pages.shared.view import stack_history
from pages.shared.view.fields import Field, Kept, number, number_pair, one_of, write_pair
from pages.shared.view.state import STACK
from transformer_core.errors import mark

PAGE = "interventions"
CELL_FORMAT = mark("the format is query, a dot, key: 4.2")
PAIR_FORMAT = mark("the format is two token ids with a dot between them: 12.44")
ADD = Field(PAGE, "add", "ablate", one_of("ablate", "cells", "patch", "tokens"))  # what kind is added next
VIEW = Field(
    PAGE, "view", "pattern", one_of("pattern", "source", "heads", "residual", "numbers", "sweep")
)  # of the effects
CELL = Field(PAGE, "cell", None, number_pair(CELL_FORMAT), write_pair)  # of the pattern
TOKEN = Field(PAGE, "token", -1, number)  # of the output, for the sweep; -1: the token that changes most
PAIR = Field(
    PAGE, "pair", None, number_pair(PAIR_FORMAT), write_pair, is_of_model=True
)  # compared there; None: the usual one
FIELDS: tuple[Field, ...] = (ADD, VIEW, CELL, TOKEN, PAIR)
SCOPE = Kept("interventions-scope", "cell")  # of what is edited in a pattern
GROUP = Kept("interventions-group", ())  # cells that are edited together


def look_at(view: str) -> None:
    """Show other effects; next to the source run, the choices of a patch."""
    VIEW.set(view)
    if view == "source":
        ADD.set("patch")


def choose_cell(cell: tuple[int, int] | None) -> None:
    """Select or deselect a cell of the pattern; while a group is edited, add the cell to it or remove it."""
    if SCOPE.value != "group":
        CELL.set(cell)
    elif cell is not None:
        CELL.set(cell)
        add_cells([cell])


def add_cells(cells: Sequence[tuple[int, int]]) -> None:
    """Add several cells to the group, or remove them if it already holds all of them."""
    others = tuple(cell for cell in GROUP.value if cell not in cells)
    GROUP.set(others if {*cells} <= {*GROUP.value} else (*others, *cells))


def current() -> InterventionStack:
    """Return the stack."""
    return from_json(STACK.value) if STACK.value else InterventionStack()


def change(stack: InterventionStack) -> None:
    """Replace the stack; the previous one can be restored."""
    written = to_json(stack) if stack.entries else ""
    if written != STACK.value:
        stack_history.keep(STACK.value)
        STACK.set(written)


def add(entry: StackEntry) -> None:
    """Add an intervention to the stack."""
    change(InterventionStack(entries=(*current().entries, entry)))


def undo() -> None:
    """Restore the previous stack."""
    _step(stack_history.DONE, stack_history.UNDONE)


def redo() -> None:
    """Restore the stack that was undone."""
    _step(stack_history.UNDONE, stack_history.DONE)


def _step(of: Kept, to: Kept) -> None:
    if of.value:
        *rest, last = of.value
        to.set((*to.value, STACK.value))
        of.set(tuple(rest))
        STACK.set(last)
