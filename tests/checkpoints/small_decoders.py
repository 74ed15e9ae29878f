"""Small decoder-only models with other positions, windows or parallel blocks."""

from collections.abc import Mapping

from tests.checkpoints.small import Small

SMALL: Mapping[str, Small] = {}
