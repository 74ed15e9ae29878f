"""Small decoder-only models with other norms, scales or caps."""

from collections.abc import Mapping

from tests.checkpoints.small import Small

SMALL: Mapping[str, Small] = {}
