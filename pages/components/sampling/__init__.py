"""The next-token distribution as a component reads it, and the sampling settings that a person chooses there.

The effect of the sliders is computed in the browser (`sampling.js`), over the whole vocabulary, by the
same arithmetic as `transformer_core.decoding.sampling.next_log_probs`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.figures import isolate
from headlight.language import say
from pages.shared.view.fields import Field, decimal, number, plain
from pages.shared.view.shared_value import SharedValue
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import ConfigError

SLIDERS = ("temperature", "top_k", "top_p", "min_p")  # fields of a sampling
MOST_TOP_K = 999_999  # maximum that the browser sends: more than any vocabulary has


@dataclass(frozen=True, kw_only=True, eq=False)
class NextTokenDistribution:
    """The next-token distribution at one step of a text."""

    n_written: int  # tokens at that distribution
    scores: Float[np.ndarray, " vocab"]  # logits after the repetition penalty, up to a number; -inf: never written
    log_probs: Float[np.ndarray, " vocab"]  # of the model itself, in nats
    entropy: float  # of the model's own distribution, in nats
    next_token: int | None  # the token that the settings choose next; None: unknown
    version: str  # of the distribution; it comes back with a chosen token
    name: str = ""  # follows "Next-token distribution" in the label for screen readers


def distribution_payload(
    distribution: NextTokenDistribution, label: Callable[[int], str], n_most: int
) -> tuple[dict[str, Any], bytes]:
    """Return a distribution for a component, and its scores (float32, little endian), the highest first.

    Args:
        distribution: at one step.
        label: returns the label of a token.
        n_most: this many tokens have rows; and the next one.

    Raises:
        ValueError: scores or log-probabilities that are not numbers, not of one vocabulary, or allow no token.
    """
    scores, log_probs = distribution.scores, distribution.log_probs
    if scores.shape != log_probs.shape:
        raise ValueError(
            f"There are {len(scores)} scores and {len(log_probs)} log-probabilities; give one of each for every token."
        )
    if not np.isfinite(scores.max(initial=-np.inf)) or np.isnan(log_probs).any():
        raise ValueError("The scores and log-probabilities must be numbers, and one token at least must be possible.")
    order = np.argsort(scores, kind="stable")[::-1]  # ties: the higher token first, since top-p keeps those longest
    n = min(n_most, int(np.isfinite(scores).sum()))
    places = list(range(n))
    if distribution.next_token is not None and (place := int(np.flatnonzero(order == distribution.next_token)[0])) >= n:
        places.append(place)
    rows = [
        {
            "token": token,
            "place": place,
            "label": isolate(label(token)),
            "log_prob": float(log_probs[token]),
            "rank": int((log_probs > log_probs[token]).sum()),
        }
        for place, token in ((place, int(order[place])) for place in places)
    ]
    payload = {
        "nWritten": distribution.n_written,
        "rows": rows,
        "n": n,
        "entropy": distribution.entropy,
        "next": distribution.next_token,
        "name": distribution.name,
        "version": distribution.version,
    }
    return payload, scores[order].astype("<f4").tobytes()


def sampling_payload(key: str, sampling: Sampling) -> dict[str, Any]:
    """Return the current settings for the component with this key."""
    return _settings(key).payload({field: getattr(sampling, field) for field in SLIDERS})


def sent_sampling(key: str, sampling: Sampling) -> Sampling | None:
    """Return the settings that a person chose, based on the current ones; None if they are invalid.

    Args:
        key: the component's key.
        sampling: the current settings; those without a slider are left unchanged.
    """
    heard = _settings(key).heard()
    values: list[Any] = [heard.get(field) for field in SLIDERS] if isinstance(heard, Mapping) else [None]
    if not all(type(value) in (int, float) for value in values):
        return None
    temperature, top_k, top_p, min_p = values
    if type(top_k) is not int or top_k > MOST_TOP_K:
        return None
    try:
        return replace(sampling, temperature=float(temperature), top_k=top_k, top_p=float(top_p), min_p=float(min_p))
    except (ConfigError, OverflowError):  # invalid numbers, or numbers too large for a float
        return None


def _settings(key: str) -> SharedValue:
    return SharedValue(key, "sampling")


def sampling_fields(page: str, *, temperature: float = 0.0) -> dict[str, Field]:
    """Return the fields of a page, by the names of the settings; the default temperature 0 is greedy decoding."""
    return {
        "temperature": Field(page, "temperature", temperature, _temperature, plain),  # 0: greedy
        "top_k": Field(page, "top_k", 0, number),
        "top_p": Field(page, "top_p", 1.0, decimal(0, 1, above=True), plain),
        "min_p": Field(page, "min_p", 0.0, decimal(0, 1), plain),
        "repetition_penalty": Field(page, "repetition", 1.0, decimal(0.01, 10), plain),
        "seed": Field(page, "seed", 0, number),
    }


def sampling_of(fields: Mapping[str, Field]) -> Sampling:
    """Return the settings that are chosen."""
    return Sampling(**{name: field.value for name, field in fields.items()})


def _temperature(text: str) -> float:
    """Parse a temperature: 0, which is greedy, or a number that logits can be divided by.

    Raises:
        ValueError: it is neither.
    """
    value = decimal(0, 5)(text)
    if 0 < value < 0.001:
        raise ValueError(say("it must be 0, or a number from 0.001 to 5"))
    return value
