"""Small encoder-only and encoder-decoder models of families with other embeddings, norms or heads."""

from collections.abc import Mapping

from tests.checkpoints.small import Small

SMALL: Mapping[str, Small] = {}
