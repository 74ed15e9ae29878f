"""The next-token distribution at this step: candidates as bars, sampling settings, and a box for your own text."""

import hashlib
import math
from typing import TYPE_CHECKING

import streamlit as st

from headlight.figures import isolate
from headlight.language import say
from pages.components.mounting import component, packed
from pages.components.sampling import (
    SLIDERS,
    NextTokenDistribution,
    distribution_payload,
    sampling_payload,
    sent_sampling,
)
from pages.explore.decoding import view_fields
from pages.explore.decoding.data import DecodingData
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.view.fields import Kept, sent
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import DecodingStep

KEY = "decoding-candidates"
OWN = Kept("decoding-own", "")  # the box for forced text
OWN_NOTE = Kept("decoding-own-note", "")
N_MOST = 40  # tokens with bars besides the next one: twelve at first, the others on request
MOST_AHEAD = 8_192  # largest vocabulary for which the distributions of adjacent steps are sent too
NUMBER_WIDTH, OWN_WIDTH = 106, 238  # px: side by side where there is room
LEAST_PENALTY, MOST_PENALTY = 0.01, 10.0
MOST_SEED = 999_999
ABOUT_PENALTY = mark(
    "Above 1, tokens that already occurred become less probable: their positive logits are divided by it, negative "
    "ones are multiplied by it. 1 = off."
)
ABOUT_SEED = mark("The same seed samples the same tokens. At temperature 0 nothing is sampled.")


def show(data: DecodingData) -> None:
    """Draw the next-token distribution, or say why there is none."""
    place = (
        "" if data.tree.has_ended(data.at) else say("token {n}, {after}", n=data.n_written, after=_after(data, data.at))
    )
    prose.subheading(say("Next-token distribution"), place)
    if data.ended:
        prose.note(data.ended)
    if data.prediction is None:
        return
    try:
        data.tree.refuse_not_finite(data.at)
    except HeadlightError as error:
        prose.note(prose.sentence(error))
        return
    _bars(data)
    prose.small("", definitions("logits", "temperature", "top-k", "top-p", "min-p"))
    with st.container(key="hl-decoding-sampling", horizontal=True, gap="small", vertical_alignment="bottom"):
        penalty, seed = view_fields.REPETITION, view_fields.SEED
        penalty.number(
            say("Repetition penalty"),
            min(LEAST_PENALTY, penalty.value),
            MOST_PENALTY,
            step=0.1,
            take=lambda value: view_fields.set_sampling({penalty: value}),
            help=prose.with_links(say(ABOUT_PENALTY), definitions("repetition-penalty")),
            width=NUMBER_WIDTH,
        )
        seed.number(
            say("Seed"),
            0,
            MOST_SEED,
            step=1,
            disabled=data.session.sampling.temperature == 0,
            take=lambda value: view_fields.set_sampling({seed: value}),
            help=say(ABOUT_SEED),
            width=NUMBER_WIDTH,
        )
        _own_words(data)
    if note := OWN_NOTE.pop():
        prose.note(note)


def _bars(data: DecodingData) -> None:
    """Draw the probabilities of the candidates before and after the sampling settings, below sliders for them.

    While a slider moves, the browser redraws the bars on its own and notifies the server only on release. Until the
    server answers, the next token is not marked. The distributions of adjacent steps are sent along, so that
    stepping to them shows them at once.
    """
    is_small = data.card.config.vocab_size <= MOST_AHEAD
    here = _distribution(data, data.at)
    nearby = [_distribution(data, one) for one in data.around(1).values() if one is not data.at] if is_small else []
    shown, scores = zip(
        *(
            distribution_payload(one, lambda token: data.tokenizer.labels([token])[0], N_MOST)
            for one in (here, *(one for one in nearby if math.isfinite(one.entropy)))
        ),
        strict=True,
    )
    header = {
        "distributions": shown,
        "nTokens": len(here.scores),
        "sampling": sampling_payload(KEY, data.session.sampling),
    }
    component(__file__, "candidates", isolated=True)(
        key=KEY,
        data=packed(header, b"".join(scores)),
        on_token_change=lambda: _take(data, here.version),
        on_sampling_change=_choose,
    )


def _distribution(data: DecodingData, step: "DecodingStep") -> NextTokenDistribution:
    """Return the next-token distribution after a step."""
    from transformer_core.decoding.session import DecodingSession

    penalty = Sampling(repetition_penalty=data.session.sampling.repetition_penalty)
    scores = DecodingSession.of(data.tree, sampling=penalty).distribution(step)
    assert step.prediction is not None, "it was read to know its distribution"
    return NextTokenDistribution(
        n_written=step.position - data.tree.start.position,
        scores=scores.numpy(),
        log_probs=step.prediction.log_probs.numpy(),
        entropy=step.prediction.entropy,
        next_token=data.session.choice(step) if data.tree.room_after(step) else None,
        version=_version(data, step),
        name=_after(data, step),
    )


def _take(data: DecodingData, version: str) -> None:
    """Continue with the token that was clicked, if the click is valid and belongs to this step."""
    match sent(KEY, "token"):
        case {"token": int(token), "version": of} if type(token) is int and of == version:
            if 0 <= token < data.card.config.vocab_size and data.tree.room_after(data.at):
                view_fields.fork([token])


def _choose() -> None:
    """Apply the sampling settings when a slider is released."""
    if sampling := sent_sampling(KEY, view_fields.sampling()):
        view_fields.set_sampling({view_fields.SAMPLING[name]: getattr(sampling, name) for name in SLIDERS})


def _own_words(data: DecodingData) -> None:
    """Draw a box for text that is forced from this step on."""
    of_words = say("… a space starts a new word") if data.spaces_count else say("Type text, then press Enter")
    OWN.text_line(
        say("Continue with your own text"),
        shown="",
        take=lambda text: _lead(data, text),
        disabled=not data.tree.room_after(data.at),
        placeholder=say("Type token IDs, then Enter") if data.card.reads_ids else of_words,
        help=say("These tokens are forced; after them the model continues on its own."),
        width=OWN_WIDTH,
    )


def _lead(data: DecodingData, text: str) -> None:
    """Force the typed text on the model, or say why that is impossible."""
    try:
        tokens = data.tokenizer.encode(text)
    except HeadlightError as error:
        OWN_NOTE.set(say("This text cannot be used: {error}.", error=error))
        return
    room = min(data.tree.max_positions - data.at.position - 1, view_fields.MOST_LED - data.n_written)
    if len(tokens) > room:
        OWN_NOTE.set(say("This text has {n:,} tokens, but only {room:,} fit; shorten it.", n=len(tokens), room=room))
    elif tokens:
        if data.tokenizer.unk_id in tokens:
            OWN_NOTE.set(say("Part of it is not in the vocabulary and is replaced by the unknown token."))
        view_fields.fork(tokens)


def _after(data: DecodingData, step: "DecodingStep") -> str:
    return say("after “{token}”", token=isolate(data.labels([step])[0]))


def _version(data: DecodingData, step: "DecodingStep") -> str:
    identity = (data.source, data.view.text, [one.token for one in step.path()])
    return hashlib.sha256(repr(identity).encode()).hexdigest()
