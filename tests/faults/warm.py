"""Imported once, by the process that all others here are forks of: all that a training needs."""

from tests.faults import forked
from transformer_core.cli.ready import import_all

import_all()

__all__ = ["forked"]
