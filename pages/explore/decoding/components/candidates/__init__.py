"""The next-token distribution: the most probable tokens as bars, and sliders for how one of them is chosen.

What a person chooses comes back as triggers of the component's key, each for one run; `sent_token` and
`pages.components.sampling.sent_sampling` check them like any input.
"""

from collections.abc import Callable, Sequence

from pages.components.mounting import component
from pages.components.packing import packed
from pages.components.sampling import NextTokenDistribution, distribution_payload, sampling_payload
from pages.shared.view.fields import sent
from transformer_core.decoding.settings import Sampling

N_MOST = 40  # tokens that have bars beside the next one, twelve of them at once and the others on request


def candidates(
    distribution: NextTokenDistribution,
    *,
    nearby: Sequence[NextTokenDistribution] = (),
    label: Callable[[int], str],
    sampling: Sampling,
    key: str,
    on_token: Callable[[], None],
    on_sampling: Callable[[], None],
) -> None:
    """Bars for the most probable tokens, by the model itself and by the settings, under sliders for the settings.

    While a slider is moved the bars are redrawn at once without the server, which is notified when it is released.
    Until it has answered, the next token is not marked.

    Args:
        distribution: what is shown.
        nearby: other distributions, which are shown at once where a person steps to them.
        label: what is written for a token.
        sampling: the settings that hold.
        key: the component's key.
        on_token: called before the run in which `sent_token` gives the token that a person wants written instead.
        on_sampling: called before the run in which `sent_sampling` gives the settings that a person wants.

    Raises:
        ValueError: scores or log-probabilities that are not numbers, not of one vocabulary, or allow no token.
    """
    shown, scores = zip(*(distribution_payload(one, label, N_MOST) for one in (distribution, *nearby)), strict=True)
    header = {
        "distributions": shown,
        "nTokens": len(distribution.scores),
        "sampling": sampling_payload(key, sampling),
    }
    component(__file__, "candidates", isolated=True)(
        key=key,
        data=packed(header, b"".join(scores)),
        on_token_change=on_token,
        on_sampling_change=on_sampling,
    )


def sent_token(key: str, *, version: str) -> int | None:
    """Return the token that a person wants written at this step; None: there is none, or it was another step."""
    match sent(key, "token"):
        case {"token": int(token), "version": of} if type(token) is int and token >= 0 and of == version:
            return token
    return None
