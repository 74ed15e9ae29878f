"""Which other text interventions take values from, where nobody has chosen one."""

from collections.abc import Sequence

from headlight.analysis.interventions.record_checks import MAX_TEXT_CHARS
from headlight.analysis.interventions.source_runs import SourceRun, pair_positions
from transformer_core.config import Architecture
from transformer_core.text.interface import Tokenizer

LEAST_SHARE = 0.25  # of a text's tokens that have a counterpart in the other one; below it, hardly anything is patched


def usual_other_text(
    tokenizer: Tokenizer, architecture: Architecture, text: str, others: Sequence[str], *, max_tokens: int = 64
) -> str:
    """Return the text in which most tokens of a text have a counterpart, and of those as many as possible the same.

    Args:
        tokenizer: the model's own.
        architecture: of the model.
        text: that values are put into.
        others: that are offered, such as examples; of equally good ones the first is taken.
        max_tokens: of each text, so many are compared.

    Returns:
        one of `others`; or, where fewer than a quarter of the tokens have a counterpart in each of them, the words of
        the text in the opposite order, which are as many. An intervention can name it: of a longer text, these are the
        first words of it, and where it has white space alone, it is one of `others` or the text itself.
    """

    def run_of(given: str) -> SourceRun:
        labels = tuple(tokenizer.labels_for(given, architecture)[:max_tokens])
        return SourceRun(inputs=(), labels={"source": labels}, n_given=0)

    here, shares = run_of(text), dict[str, tuple[float, int]]()
    tokens = here.labels["source"]
    for other in others:
        if other == text or not 0 < len(other) <= MAX_TEXT_CHARS:
            continue
        there = run_of(other)
        pairs = pair_positions(here, there, "source").positions.items()
        n_same = sum(tokens[position] == there.labels["source"][of] for position, of in pairs)
        shares[other] = len(pairs) / max(1, len(tokens)), n_same
    kept = _shortened(text)
    best = max(shares, key=shares.__getitem__, default=kept)
    turned = " ".join(reversed(kept.split()))
    is_far = best not in shares or shares[best][0] < LEAST_SHARE
    return turned if is_far and turned not in ("", kept) else best


def _shortened(text: str) -> str:
    """Return as many of a text's first words as an intervention can name; of one longer word, its beginning."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    start = text[:MAX_TEXT_CHARS]
    return (start.rsplit(maxsplit=1) or [start])[0]
