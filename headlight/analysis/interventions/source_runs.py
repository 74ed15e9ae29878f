"""Source runs: other texts that interventions take values from, each run once, without the stack."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import Any

from torch import Tensor

from headlight.analysis.interventions.record import MAX_TEXT_CHARS
from headlight.analysis.interventions.records import STEMS, Component, Continuation
from headlight.analysis.texts.fixed_text import fix_text
from headlight.analysis.texts.side_by_side import align_tokens
from headlight.analysis.trace.model_run import ModelRun
from headlight.analysis.trace.traced_forward import EncodedInput, FixedText, captured
from transformer_core.config import Architecture
from transformer_core.errors import InterventionError
from transformer_core.hooks import active_hooks, named_hook_points
from transformer_core.instrument.sites import site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

LEAST_SHARE = 0.25  # share of a text's tokens with a counterpart; below it, hardly anything is patched
_MOST_RUNS = 64
_MOST_BYTES = 128 << 20  # of activations

_Key = tuple[Given, tuple[int, ...]]


def pair_positions(here: FixedText, there: FixedText, side: str) -> dict[int, int]:
    """Return the pairs of positions of this run and a source run, of the texts and of the outputs.

    If both runs read two texts, the first texts are paired with each other, and so are the second ones.

    Parts of equal length are paired position by position. Otherwise equal tokens are paired, and tokens that were
    replaced one for one (`align_tokens`).

    Args:
        here: the run that values are put into.
        there: the run that they come from.
        side: "source" or "target".

    Returns:
        here -> there; positions without a counterpart take values from random positions of the source run.
    """
    a, b = getattr(here, side), getattr(there, side)
    if side == "target" and here.architecture == "encoder_decoder":
        cuts = min(1, len(a)), min(1, len(b))
    elif side == "target":
        cuts = here.n_given, there.n_given
    elif here.border is not None and there.border is not None:
        cuts = here.border, there.border
    else:
        cuts = len(a), len(b)
    return _paired(a, b, *cuts)


def _paired(a: Sequence[str], b: Sequence[str], cut_a: int, cut_b: int) -> dict[int, int]:
    """Pair the labels up to the cuts, and those after them."""
    positions: dict[int, int] = {}
    for (from_a, to_a), (from_b, to_b) in (((0, cut_a), (0, cut_b)), ((cut_a, len(a)), (cut_b, len(b)))):
        if to_a - from_a == to_b - from_b:
            positions |= dict(zip(range(from_a, to_a), range(from_b, to_b), strict=True))
        else:
            pairs = align_tokens(a[from_a:to_a], b[from_b:to_b]).pairs
            positions |= {from_a + pair.a: from_b + pair.b for pair in pairs}
    return positions


@dataclass(eq=False)
class SourceRuns:
    """The source runs of one model, with cached activations; threads may share it.

    It does not hold the model, so that the runs of a model may stay in memory without it.
    """

    tokenizer: Tokenizer  # the model's own
    _: KW_ONLY
    max_tokens: int = 64  # of each side, as in `run_text`
    max_new_tokens: int = 24  # that a decoder generates after a text, as in `run_text`

    def __post_init__(self) -> None:
        """Start with none."""
        self._runs: dict[_Key, FixedText] = {}
        self._acts: dict[tuple[tuple[tuple[int, ...], ...], str], Tensor] = {}
        self._lock = Lock()

    @property
    def room(self) -> dict[str, Any]:
        """The limits of a text, as `run_text` takes them."""
        return {"max_tokens": self.max_tokens, "max_new_tokens": self.max_new_tokens}

    @property
    def n_bytes(self) -> int:
        """Memory of the activations that are kept, in bytes."""
        with self._lock:
            return sum(acts.nbytes for acts in self._acts.values())

    def run(
        self, model: Transformer, text: Given, continuation: Continuation = "own", *, here: ModelRun | None = None
    ) -> FixedText:
        """Return the run of a text.

        Args:
            model: whose source runs these are, in evaluation mode.
            text: that the source run reads, or a pair.
            continuation: "own": the output that the model generates; "same": that of `here`.
            here: the run that values are put into; needed for "same".

        Raises:
            InterventionError: "same" without a run.
            TextError: a text that the model cannot read.
        """
        written: tuple[int, ...] = ()
        if continuation == "same":
            if here is None:
                raise InterventionError(
                    "a source run with the same continuation needs the run that it is patched into; give run"
                )
            written = here.inputs[-1] if here.architecture == "encoder_decoder" else here.inputs[-1][here.n_given :]
            continuation = "own" if here.architecture == "encoder_only" else "same"
        key = (text, written if continuation == "same" else (-1,))
        with self._lock:
            if key not in self._runs:
                self._runs[key] = self._own(model, text) if continuation == "own" else self._same(model, text, written)
                while len(self._runs) > _MOST_RUNS:
                    del self._runs[next(iter(self._runs))]
            return self._runs[key]

    def activations(self, model: Transformer, run: FixedText, sites: Iterable[str]) -> Mapping[str, Tensor]:
        """Return the activations [1, ...] at some sites of a run; compute those not cached in one forward pass.

        Raises:
            SiteError: a site that the model does not have.
        """
        sites = tuple(dict.fromkeys(sites))
        with self._lock:
            missing = [site for site in sites if (run.inputs, site) not in self._acts]
            if missing:
                with stepwise_attention(model):
                    taken = captured(model, run.inputs, *missing)
                for site in missing:
                    self._acts[run.inputs, site] = taken[site]
            wanted = {site: self._acts[run.inputs, site] for site in sites}
            while sum(acts.nbytes for acts in self._acts.values()) > _MOST_BYTES and len(self._acts) > 1:
                del self._acts[next(iter(self._acts))]
        return wanted

    def _own(self, model: Transformer, text: Given) -> FixedText:
        return fix_text(model, self.tokenizer, text, **self.room)

    def _same(self, model: Transformer, text: Given, written: Sequence[int]) -> FixedText:
        """Return the run of a text with the output of another run after it."""
        config, tokenizer = model.config, self.tokenizer
        most = min(self.max_tokens, config.max_seq_len)
        room = most if config.has_encoder else max(1, most - len(written))
        given = EncodedInput.of(tokenizer, text, config.architecture, room)
        labels = tuple(tokenizer.target.labels(written))
        is_pair = config.has_encoder
        return FixedText(
            architecture=config.architecture,
            inputs=(tuple(given.ids), tuple(written)) if is_pair else ((*given.ids, *written),),
            source=given.labels if is_pair else (),
            target=labels if is_pair else (*given.labels, *labels),
            n_given=1 if is_pair else len(given.ids),
            output="",
            judged=(),
            expected=(),
            left_out=given.left_out,
        )


def site_of(component: Component) -> str:
    """Return the name of the hook point where a component's activation passes."""
    return site(STEMS[component.kind], layer=component.layer, attention=component.attention)


@contextmanager
def stepwise_attention(model: Transformer) -> Iterator[None]:
    """Compute every attention step by step while the context lasts, as it is wherever a pattern is edited.

    The fused kernel rounds differently: without this, an edit that changes nothing would still change the last bits.
    """
    points = [point for name, point in named_hook_points(model).items() if name.endswith(".hook_pattern")]
    with active_hooks(dict.fromkeys(points, lambda pattern: pattern)):
        yield


def usual_other_text(
    tokenizer: Tokenizer, architecture: Architecture, text: str, others: Sequence[str], *, max_tokens: int = 64
) -> str:
    """Return the other text that pairs with the most tokens of a text; among ties, the one with most equal tokens.

    Args:
        tokenizer: the model's own.
        architecture: of the model.
        text: that values are put into.
        others: candidates, such as examples; the first of equally good ones is taken.
        max_tokens: the number of tokens of each text to compare.

    Returns:
        one of `others`; or, where fewer than a quarter of the tokens have a counterpart in each of them, the words of
        the text in reverse order. An intervention can name it: of a longer text, these are its first words, and if it
        has white space alone, it is one of `others` or the text itself.
    """

    def labels_of(given: str) -> list[str]:
        return tokenizer.labels_for(given, architecture)[:max_tokens]

    tokens, shares = labels_of(text), dict[str, tuple[float, int]]()
    for other in others:
        if other == text or not 0 < len(other) <= MAX_TEXT_CHARS:
            continue
        there = labels_of(other)
        pairs = _paired(tokens, there, len(tokens), len(there)).items()
        n_same = sum(tokens[position] == there[of] for position, of in pairs)
        shares[other] = len(pairs) / max(1, len(tokens)), n_same
    named = text
    if len(text) > MAX_TEXT_CHARS:  # its first words; of one longer word, the beginning
        named = (text[:MAX_TEXT_CHARS].rsplit(maxsplit=1) or [text[:MAX_TEXT_CHARS]])[0]
    best = max(shares, key=shares.__getitem__, default=named)
    reversed_words = " ".join(reversed(named.split()))
    is_far = best not in shares or shares[best][0] < LEAST_SHARE
    return reversed_words if is_far and reversed_words not in ("", named) else best
