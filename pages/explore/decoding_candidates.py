"""The next-token distribution at this step: the candidates as bars, how one is chosen, and a person's own words."""

import hashlib
import math
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.explore.decoding_scene import Scene
from pages.shared import decoding_state, prose
from pages.shared.components.candidates import Moment, candidates, sent_sampling, sent_token
from pages.shared.fields import Field
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import HeadlightError, mark
from transformer_core.figures import isolate
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import DecodingStep

KEY = "decoding-candidates"
OWN = "decoding-own"  # the box for one's own words
OWN_NOTE = "decoding-own-note"
MOST_AHEAD = 8_192  # tokens of a vocabulary up to which the moments before and behind this one are sent as well
NUMBER_WIDTH, OWN_WIDTH = 106, 238  # px: side by side where there is room
LEAST_PENALTY, MOST_PENALTY = 0.01, 10.0
MOST_SEED = 999_999
BROKEN = mark(
    "The model says nothing that is a number here, so no token is more probable than another. Its weights are "
    "broken, as after a training that diverged; take an earlier moment of that training."
)
ABOUT_PENALTY = mark(
    "Above 1, tokens that are there already become less probable: positive logits are divided by it, negative ones "
    "multiplied. 1 changes nothing."
)
ABOUT_SEED = mark("The same seed draws the same tokens. At temperature 0 nothing is drawn.")


def show(scene: Scene) -> None:
    """Draw what may come next, or say why nothing does."""
    place = (
        ""
        if scene.tree.has_ended(scene.at)
        else say("token {n}, {after}", n=scene.n_written, after=_after(scene, scene.at))
    )
    prose.subheading(say("Next-token distribution"), place)
    if scene.ended:
        prose.note(scene.ended)
    if scene.prediction is None:
        return
    if not math.isfinite(scene.prediction.entropy):
        prose.note(say(BROKEN))
        return
    _bars(scene)
    with st.container(key="hl-decoding-sampling", horizontal=True, gap="small", vertical_alignment="bottom"):
        _number(
            say("Repetition penalty"),
            decoding_state.REPETITION,
            {"min_value": min(LEAST_PENALTY, decoding_state.REPETITION.value), "max_value": MOST_PENALTY, "step": 0.1},
            help=say(ABOUT_PENALTY),
        )
        _number(
            say("Seed"),
            decoding_state.SEED,
            {"min_value": 0, "max_value": MOST_SEED, "step": 1, "disabled": scene.session.sampling.temperature == 0},
            help=say(ABOUT_SEED),
        )
        _own_words(scene)
    if note := st.session_state.pop(OWN_NOTE, ""):
        prose.note(note)


def _bars(scene: Scene) -> None:
    """Draw the candidates."""
    moment = _moment(scene, scene.at)
    is_small = scene.card.config.vocab_size <= MOST_AHEAD
    nearby = [_moment(scene, one) for one in scene.around(1).values() if one is not scene.at] if is_small else []
    candidates(
        moment,
        nearby=[one for one in nearby if math.isfinite(one.entropy)],
        label=lambda token: scene.tokenizer.labels([token])[0],
        sampling=scene.session.sampling,
        key=KEY,
        on_token=lambda: _take(scene, sent_token(KEY, version=moment.version)),
        on_sampling=_choose,
    )


def _moment(scene: Scene, step: "DecodingStep") -> Moment:
    """Return what may come next behind a step that was read."""
    from transformer_core.decoding.session import DecodingSession

    penalty = Sampling(repetition_penalty=scene.session.sampling.repetition_penalty)
    scores = DecodingSession.of(scene.tree, sampling=penalty).distribution(step)
    assert step.prediction is not None, "it was read to know its distribution"
    return Moment(
        n_written=step.position - scene.tree.start.position,
        scores=scores.numpy(),
        log_probs=step.prediction.log_probs.numpy(),
        entropy=step.prediction.entropy,
        next_token=scene.session.choice(step) if scene.tree.has_room(step) else None,
        version=_version(scene, step),
        name=_after(scene, step),
    )


def _take(scene: Scene, token: int | None) -> None:
    """A token was chosen; what came from the browser is checked like any input."""
    if token is not None and token < scene.card.config.vocab_size and scene.tree.has_room(scene.at):
        decoding_state.fork([token])


def _choose() -> None:
    """A slider was let go."""
    if sampling := sent_sampling(KEY, decoding_state.sampling()):
        decoding_state.set_sampling(
            {
                decoding_state.TEMPERATURE: sampling.temperature,
                decoding_state.TOP_K: sampling.top_k,
                decoding_state.TOP_P: sampling.top_p,
                decoding_state.MIN_P: sampling.min_p,
            }
        )


def _number(label: str, field: Field, limits: dict[str, Any], *, help: str) -> None:
    """Draw a number of the sampling that has no slider."""
    key = f"{field.key}-box"
    st.session_state[key] = field.value
    st.number_input(
        label,
        key=key,
        on_change=lambda: decoding_state.set_sampling({field: st.session_state[key]}),
        help=help,
        width=NUMBER_WIDTH,
        **limits,
    )


def _own_words(scene: Scene) -> None:
    """Draw a box for words that are forced from this step on."""
    of_ids = scene.card.reads_ids
    spaces_count = not of_ids and scene.tokenizer.encode(" a") != scene.tokenizer.encode("a")
    of_words = say("… a space begins a new word") if spaces_count else say("Words to go on with, then Enter")
    st.text_input(
        say("Write your own here"),
        key=OWN,
        on_change=_lead,
        args=(scene,),
        disabled=not scene.tree.has_room(scene.at),
        placeholder=say("Token ids, then Enter") if of_ids else of_words,
        autocomplete="off",
        help=say("These tokens are forced; after them the model continues by itself."),
        width=OWN_WIDTH,
    )


def _lead(scene: Scene) -> None:
    """Lead the model along what was typed, or say why that cannot be."""
    text, st.session_state[OWN] = st.session_state[OWN], ""
    try:
        tokens = scene.tokenizer.encode(text) if text.strip() else []
    except HeadlightError as error:
        st.session_state[OWN_NOTE] = say("This cannot be written: {error}.", error=error)
        return
    room = min(
        scene.tree.max_positions - scene.at.position - 1,
        decoding_state.MOST_LED - scene.n_written,
    )
    if len(tokens) > room:
        st.session_state[OWN_NOTE] = say(
            "These are {n:,} tokens, but here is room for {room:,}; write less.", n=len(tokens), room=room
        )
    elif tokens:
        if scene.tokenizer.unk_id in tokens:
            st.session_state[OWN_NOTE] = say(
                "Some of it has no token of its own: the model reads a stand-in for what it does not know."
            )
        decoding_state.fork(tokens)


def _after(scene: Scene, step: "DecodingStep") -> str:
    return say("after “{token}”", token=isolate(scene.labels([step])[0]))


def _version(scene: Scene, step: "DecodingStep") -> str:
    """Return what tells this moment from all others."""
    moment = (scene.source, scene.view.text, [one.token for one in step.path()])
    return hashlib.sha256(repr(moment).encode()).hexdigest()
