"""The data of the Start page: a text on its way through a model, at one zoom level."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.blueprint.shapes import PROBABILITIES
from headlight.analysis.flow import token_sources
from headlight.analysis.flow.divergence import entropy
from headlight.analysis.stage import first_view
from headlight.analysis.stage.panels import Lane, StageText, Zoom, lanes_of, sites_of
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.dropout import drop
from pages.components.sampling import NextTokenDistribution
from pages.learn import dropout_step
from pages.learn.start import view_fields
from pages.learn.steps.data import generated
from pages.shared import cache, devices, models
from pages.shared.devices import CPU, PRECISIONS
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, call, named, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property
from transformer_core.config import ModelConfig
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.stage.first_view import FirstView

KIND = mark("stage activations")
MOST_AHEAD = 8_192  # largest vocabulary for which the distributions of all steps are sent at once


@dataclass(frozen=True, kw_only=True, eq=False)
class StageData:
    """A text on the stage; all parts of the page draw from it."""

    card: ModelCard
    view: View
    source: Source
    zoom: Zoom
    sampling: Sampling  # that the next-token distribution is shown with
    text: StageText
    first: "FirstView | None"  # the view stored beside the checkpoint, if it is selected
    notes: tuple[str, ...]  # sentences on choices that could not be applied

    @classmethod
    def current(cls, card: ModelCard) -> "StageData | None":
        """Return the data of the page; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, or the text cannot be read by it.
        """
        state.fit(card)
        view = state.current()
        if not view.text:
            return None
        source = view.source(card, continues=card.continues)
        notes = view_fields.fit(card.config, (source, view.text))
        view = state.current()  # with the head that is zoomed in on
        zoom, sampling = Zoom.of(view_fields.ZOOM.value), view_fields.sampling()
        is_where_captured = (view.device, view.precision, view.stack) == (CPU, PRECISIONS[0], "")
        is_first = not view_fields.ZOOM.value and view_fields.is_models_own() and is_where_captured
        first = _first_view(source.path, source.version, card.config) if is_first else None
        if first is not None and first.prompt != view.text:
            first = None
        text = first.text if first is not None else value_of(_text(source, view))
        data = cls(
            card=card,
            view=view,
            source=source,
            zoom=zoom,
            sampling=sampling,
            text=text,
            first=first,
            notes=tuple(notes),
        )
        steps = view_fields.STEP
        if steps.value is not None and steps.value >= len(text.rows):
            steps.set(max(0, len(text.rows) - 1))
        steps.found(data.least_certain)
        return data

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """What the stage shows."""
        return lanes_of(self.card.config, self.zoom, has_dropout=dropout_step.is_shown())

    @property
    def step(self) -> int:
        """The selected step."""
        return view_fields.STEP.value

    @property
    def forced(self) -> tuple[int, ...]:
        """The forced tokens that begin the output, regardless of the settings."""
        return tuple(view_fields.TOKENS.value)

    def generated_until(self, step: int) -> tuple[int, ...]:
        """Return the tokens that were generated up to a step; of an encoder, what the blanks were filled with."""
        if self.text.architecture == "encoder_only":
            return self.forced[: max(0, step)]
        return self.text.target[self.text.n_given : self.text.n_given + max(0, step)]

    @property
    def tokens_elsewhere(self) -> tuple[int, ...]:
        """The generated tokens, or what the blanks are filled with; () if a page that reads the text finds the same."""
        has_output = self.text.architecture != "decoder_only" or state.wants_continuation(self.card)
        if view_fields.is_models_own() and has_output and not self.text.n_left_out:
            return ()
        is_filling = self.text.architecture == "encoder_only"
        return self.forced if is_filling else self.text.target[self.text.n_given :]

    @property
    def generated_text(self) -> str:
        """The text that an encoder-decoder generated, if it is not its own greedy output; "" otherwise."""
        if self.text.architecture != "encoder_decoder" or view_fields.is_models_own():
            return ""
        _, tokenizer = self.source.load()
        return tokenizer.target.decode(self.text.target[self.text.n_given :])

    def query_of(self, attention: str) -> int | None:
        """Return the query position that makes this step's prediction; None if the attention is in another stack."""
        generating = "source" if self.text.architecture == "encoder_only" else "target"
        is_read_there = self.text.rows and ATTENTIONS[attention].queries_from == generating
        return self.text.rows[min(view_fields.STEP.value, len(self.text.rows) - 1)] if is_read_there else None

    @cached_property
    def recipe(self) -> Expression:
        """The text as code."""
        return _text(self.source, self.view)

    @cached_property
    def captured(self) -> Expression:
        """What passes the hook points while the model reads the text, as code."""
        from headlight.analysis.blueprint.capture import CapturedText

        result = call(CapturedText, self.source.recipe()[0], self.recipe.inputs)
        return named("captured", cache.kept(KIND, result))

    def capture(self) -> None:
        """Capture all that this zoom level shows, in one forward pass.

        Raises:
            HeadlightError: the model cannot be run.
        """
        if self.first is None and self.lanes:
            followed = token_sources.sites(self.card.config) if self.zoom.level == "overview" else ()
            with devices.on(self.source.device):
                value_of(self.captured).keep(*sites_of(self.lanes), *followed)

    def values(self, site: str) -> np.ndarray:
        """Return the value at a hook point, or what is computed from one, without the batch axis.

        Raises:
            HeadlightError: the model cannot be run.
        """
        if self.first is not None:
            return self.first.values(site)
        with devices.on(self.source.device):
            values: np.ndarray = value_of(self.captured.values(site))
        cache.measure(KIND, self.captured)
        return values

    @property
    def attention_shares(self) -> tuple[token_sources.AttentionShares, ...]:
        """What each attention writes, as shares of its queries' new states; () if a number is not finite."""
        return token_sources.attention_shares(self.card.config, self.values)

    @cached_property
    def log_probs(self) -> dict[int, np.ndarray]:
        """The log-probabilities of all tokens, in nats, by step; -inf for a token that is never generated."""
        if not self.text.rows:
            return {}
        logits, probabilities = self.values("hook_logits"), self.values(PROBABILITIES)
        suppressed = self.card.config.suppressed_token_id
        results = {}
        for step, row in enumerate(self.text.rows):
            best = int(probabilities[row].argmax())
            log_probs = logits[row] - (logits[row, best] - np.log(probabilities[row, best]))
            if suppressed is not None:
                log_probs[suppressed] = -np.inf
            results[step] = log_probs
        return results

    @cached_property
    def entropies(self) -> list[float]:
        """The entropy of the prediction at each step, in nats."""
        if not self.text.rows:
            return []
        probabilities = self.values(PROBABILITIES)[list(self.text.rows)]
        return [float(value) for value in entropy(probabilities.astype(np.float64))]

    @property
    def less_probable(self) -> list[int]:
        """The steps whose next token is not the most probable one: it was chosen by a person, or sampled."""
        return [
            step
            for step, log_probs in (self.log_probs.items() if self.is_finite else ())
            if self.text.next_tokens[step] not in (None, int(log_probs.argmax()))
        ]

    @property
    def mean_probability(self) -> float:
        """The geometric mean probability, in [0, 1], of all next tokens; nan if there is none."""
        chosen = [
            (row, token) for row, token in zip(self.text.rows, self.text.next_tokens, strict=True) if token is not None
        ]
        if not chosen:
            return math.nan
        rows, tokens = zip(*chosen, strict=True)
        return float(np.exp(np.log(self.values(PROBABILITIES)[rows, tokens].astype(np.float64)).mean()))

    @property
    def is_finite(self) -> bool:
        """Whether all predictions are finite."""
        return bool(np.isfinite(self.entropies).all())

    @property
    def least_certain(self) -> int:
        """The step whose prediction has the largest entropy."""
        return int(np.argmax(self.entropies)) if self.entropies else 0

    def most_probable(self, step: int, n: int) -> list[tuple[str, float]]:
        """Return the n most probable tokens at a step: labels, and probabilities among all that may be generated."""
        probabilities = np.exp(self.log_probs[step])
        tokens = np.argsort(-probabilities, kind="stable")[:n].tolist()
        return [(self.label(token), float(probabilities[token] / probabilities.sum())) for token in tokens]

    @property
    def distributions(self) -> list[NextTokenDistribution]:
        """The next-token distributions of all steps for a small vocabulary, else of this step; [] if there is none."""
        n_all = len(self.text.rows)
        if not n_all or not self.is_finite:
            return []
        steps = range(n_all) if self.card.config.vocab_size <= MOST_AHEAD else [self.step]
        return [self._distribution(step) for step in steps if self.text.next_tokens[step] is not None]

    def _distribution(self, step: int) -> NextTokenDistribution:
        log_probs = self.log_probs[step]
        return NextTokenDistribution(
            n_written=step,
            scores=log_probs,
            log_probs=log_probs,
            entropy=self.entropies[step],
            next_token=self.text.next_tokens[step],
            version=str(step),
        )

    def label(self, token: int) -> str:
        """Return the label of a token of the vocabulary."""
        if self.first is not None and token in self.first.candidates:
            return self.first.candidates[token]
        _, tokenizer = self.source.load()
        return tokenizer.target.labels([token])[0]

    def panel_values(self) -> Mapping[str, np.ndarray]:
        """Return the values of all panels of this zoom level, by their keys; patterns are -inf where masked."""
        results = {}
        for lane in self.lanes:
            for panel in lane.panels:
                values = self.values(panel.site)
                if panel.rate:
                    values = drop(values, site=panel.site, rate=panel.rate, seed=dropout_step.SEED.value)
                if panel.mask:
                    values = np.where(self.values(panel.mask), values, -np.inf)
                results[panel.key] = values
        return results


def _text(source: Source, view: View) -> Expression:
    return generated(source, view.text, view_fields.TOKENS.value, view_fields.decoding())


@cache.by_arguments(mark("first views"))
def _first_view(path: str, version: str, config: ModelConfig) -> "FirstView | None":
    return first_view.read(models.place_of(path), config)
