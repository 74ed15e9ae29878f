"""The fields of a view that say how the next token is chosen, on the pages where a model generates."""

from collections.abc import Mapping

from pages.shared.view.fields import Field, decimal, number, plain
from transformer_core.decoding.settings import Sampling
from transformer_core.language import say


def sampling_fields(page: str) -> dict[str, Field]:
    """Return the fields of a page, by the names of the settings; usual is greedy decoding."""
    return {
        "temperature": Field(page, "temperature", 0.0, _temperature, plain),  # 0: greedy
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
    """Read 0, which is greedy, or what logits can be divided by.

    Raises:
        ValueError: it is neither.
    """
    value = decimal(0, 5)(text)
    if 0 < value < 0.001:
        raise ValueError(say("it must be 0, or a number from 0.001 to 5"))
    return value
