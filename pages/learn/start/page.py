"""Start: how does my text become a prediction, on one screen?"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from headlight.figures import isolate
from headlight.language import say
from pages.explore.decoding import view_fields as decoding_fields
from pages.explore.decoding.view_fields import Branch
from pages.learn import dropout_step
from pages.learn.start import view_fields
from pages.learn.start.components.stage import stage
from pages.learn.start.data import StageData
from pages.learn.steps.view_fields import FIELDS as STEPS
from pages.learn.steps.view_fields import TOKENS, written_ids
from pages.shared import answer, code_expander, model_bar, prose, readings
from pages.shared.answer import NO_BLANK, NO_HEAD, NO_MASK
from pages.shared.recipe import Lines, script
from pages.shared.view import state
from pages.shared.view.fields import sent
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Tokens become vectors that pass through the blocks; the output of the last block predicts the next token. Every "
    "cell is an activation of the model on your text; zoom in to see how it is computed."
)
LEAD_OF_BLANKS = mark(
    "Tokens become vectors that pass through the blocks; the output of the last block predicts what fills each blank. "
    "Every cell is an activation of the model on your text; zoom in to see how it is computed."
)
LEAST_CERTAIN = mark(
    "This is the step at which the model is least certain: “{first}” has probability {p}, and “{second}” {q}."
)
BLANK = mark(
    "The blank with the most certain prediction is filled first: here “{first}” ({p}), ahead of “{second}” ({q})."
)
LOOK_FOR = {
    "overview": mark(
        "press Play and follow one row: it is one token. Attention is the only step that moves information "
        "between rows; everything else works on each row alone. Open a block to zoom in."
    ),
    "block": mark(
        "each sub-layer reads the residual stream, and its output is added to it. Open the heads to see queries, "
        "keys and values."
    ),
    "attention": mark(
        "each head compares its own queries with its own keys; the softmax of the scores is its pattern, and z is the "
        "sum of the values, weighted by the pattern. Open a head to follow it step by step."
    ),
}
ENDED = mark("The model ended the text here (end-of-sequence token).")
FULL = mark("All positions of this model are used, so no further token can be generated.")
NOT_FINITE = mark("The model’s outputs are NaN or infinite here, so nothing is predicted.")
FILLED = mark("All blanks are filled.")
WITHOUT_MASK = mark("This model has no mask token, so there is nothing to fill in.")
BEYOND = mark("There is no blank among the tokens shown here.")
CODE = """
for lane in lanes_of(model.config, zoom):
    for panel in lane.panels:
        print(panel.name, panel.site, captured.values(panel.site).shape)
"""
CODE_WITH_DROPOUT = """
for lane in lanes_of(model.config, zoom, has_dropout=True):
    for panel in lane.panels:
        values = captured.values(panel.site)
        if panel.rate:
            values = drop(values, site=panel.site, rate=panel.rate, seed={seed})
        print(panel.name, panel.key, values.shape)
"""


def page() -> None:
    """Draw the page, in the order of all pages."""
    is_masked = state.card(view_fields.PAGE).config.architecture == "encoder_only"
    prose.heading(say("Start"), say(LEAD_OF_BLANKS if is_masked else LEAD))
    if state.current().text:
        view_fields.forget_places()
        show()


@st.fragment
def show() -> None:
    """Draw the stage and the parts for its zoom level; an action on it reruns only this fragment."""
    data = _drawn()
    if data is None:
        return
    dropout_step.controls(data.card.config)
    prose.look_for(say(LOOK_FOR[data.zoom.level]))
    _links(data)
    code_expander.code(lambda: _code(data))
    state.publish()


def _drawn() -> StageData | None:
    """Draw the stage, and return its data; if the text cannot be read, say why and offer to start again."""
    card = state.card(view_fields.PAGE)
    try:
        with st.spinner(say("Reading the text …"), show_time=True):
            data = StageData.current(card)
            if data is not None:
                _open_head(data)
                data.capture()
        if data is None:
            return None
        if notes := [*data.notes, *_remarks(data)]:
            prose.note(" ".join(notes))
        stage(data, ended=_ended(data), reason=_reason(data), on_token=lambda: _take(data))
        return data
    except HeadlightError as error:
        prose.warning(say("This cannot be shown: {why}.", why=error))
        if view_fields.TOKENS.value:
            st.button(say("Start over"), on_click=view_fields.start_again, type="primary")
        return None


def _take(data: StageData) -> None:
    """Take the token that a person chose, after validating the browser's message."""
    match sent(view_fields.STAGE, "token"):
        case {"token": int(token), "step": int(step)} if 0 <= token < data.card.config.vocab_size:
            view_fields.choose_token(data.generated_until(step), token)


def _open_head(data: StageData) -> None:
    """Open Attention step by step if a head is chosen, on the same tokens; the address leads back to its attention."""
    zoom = data.zoom
    if zoom.level != "head":
        return
    query = data.query_of(zoom.attention)
    chosen = {"query": str(query)} if query is not None else {}
    of_link = {field.name: st.query_params[field.name] for field in STEPS if field.name in st.query_params}
    tokens = {TOKENS.name: written_ids(data.tokens_elsewhere)} if data.tokens_elsewhere else {}
    view_fields.ZOOM.set(str(replace(zoom, head=None)))
    state.publish()
    st.switch_page("learn/steps/page.py", query_params=_text(data) | _head(data) | chosen | of_link | tokens)


def _text(data: StageData) -> dict[str, str]:
    """Return the model and the text as other pages have them; they would generate the model's own output."""
    target = {state.TARGET.key: data.generated_text} if data.generated_text else {}
    return {state.MODEL.key: data.view.model, **state.text_parameters(), **target}


def _head(data: StageData) -> dict[str, str]:
    zoom = data.zoom
    return {
        state.ATTENTION.key: zoom.attention,
        state.LAYER.key: str(zoom.layer),
        state.HEAD.key: str(zoom.head if zoom.head is not None else data.view.head),
    }


def _ended(data: StageData) -> str:
    """Return why there is no prediction or no next token; "" if there is one."""
    text = data.text
    if data.zoom.level == "overview" and not data.is_finite:
        return " ".join([say(NOT_FINITE), *model_bar.not_finite_from(readings.current(data.card))])
    if not data.card.config.unembed:
        return say(NO_HEAD)
    if text.architecture == "encoder_only":
        if text.has_ended:
            return say(FILLED)
        if text.rows:
            return ""
        if data.source.load()[1].mask_id is not None:
            return say(BEYOND if text.n_left_out else NO_BLANK)
        return say(NO_MASK if data.card.reads_ids else WITHOUT_MASK)
    return say(ENDED) if text.has_ended else "" if text.next_tokens[-1] is not None else say(FULL)


def _reason(data: StageData) -> str:
    """Return why the stage opens at its least certain step, with the two candidates there; "" without a prediction."""
    if data.zoom.level != "overview" or not data.text.rows or not data.is_finite:
        return ""
    (first, p), (second, q) = data.most_probable(data.least_certain, 2)
    what = BLANK if data.text.architecture == "encoder_only" else LEAST_CERTAIN
    labels = {"first": isolate(first), "second": isolate(second)}
    return say(what, p=answer.probability(p), q=answer.probability(q), **labels)


def _remarks(data: StageData) -> list[str]:
    """Return sentences on limitations of the stage, such as unknown words or a truncated text."""
    n = len(data.text.source or data.text.target[: data.text.n_given])
    is_cut = data.text.n_left_out > 0
    cut = [say("This text is long: only its first {n} tokens are shown.", n=n)] if is_cut else []
    ignored = model_bar.ignored_white_space(data.text.ignores_white_space)
    is_own = data.text.architecture == "encoder_decoder" and view_fields.is_models_own()
    unlike = model_bar.unlike_training(data.card, data.mean_probability, data.text.unknown) if is_own else []
    return [*model_bar.unknown_words(data.text.unknown), *ignored, *cut, *unlike]


def _links(data: StageData) -> None:
    """Draw links to the pages that show the zoom level in full, each in the matching state."""
    zoom = data.zoom
    text, head = _text(data), _head(data)

    def link(page: str, label: str, icon: str, view: Mapping[str, str] = MappingProxyType({})) -> None:
        st.page_link(
            f"{page}/page.py",
            label=prose.plain(label),
            icon=f":material/{icon}:",
            query_params={**text, **view},
            width="content",
        )

    with st.container(horizontal=True, gap="medium", key="hl-start-links"):
        match zoom.level:
            case "overview":
                st.page_link(
                    "learn/tour/page.py",
                    label=prose.plain(say("Take the Tour")),
                    icon=":material/menu_book:",
                    width="content",
                )
                link("explore/heads", say("All heads"), "grid_view")
                link("explore/decoding", say("This step in Decoding"), "edit_note", _decoding(data))
                link("learn/positions", say("Positions"), "straighten")
                link("learn/masks", say("Masks"), "grid_off")
                link("learn/architecture", say("Architecture"), "account_tree")
            case "block":
                block = {"block": str(zoom), "show": "text"}
                link("learn/architecture", say("This block in Architecture"), "account_tree", block)
            case "attention":
                link("explore/heads", say("These heads on the Heads page"), "grid_view", head)
                link("learn/masks", say("Edit this mask"), "grid_off", head)


def _decoding(data: StageData) -> dict[str, str]:
    """Return the view of Decoding at the same step, with the same tokens and settings."""
    if data.text.architecture == "encoder_only":
        return {}
    decoding = view_fields.decoding()
    settings = {
        field.name: field.write(getattr(decoding, name))
        for name, field in decoding_fields.SAMPLING.items()
        if getattr(decoding, name) != field.usual
    }
    branches = decoding_fields.BRANCHES.write((Branch(data.forced),)) if data.forced else ""
    forced = {decoding_fields.BRANCHES.name: branches} if branches else {}
    return {decoding_fields.STEP.name: str(data.step)} | settings | forced


def _code(data: StageData) -> str:
    """Return the lines that generate the text and capture what the stage shows."""
    from headlight.analysis.stage.panels import Zoom, lanes_of
    from headlight.analysis.trace.dropout import drop

    code, uses = CODE, [data.source.recipe()[0], data.captured, lanes_of]
    if dropout_step.is_shown():
        code, uses = CODE_WITH_DROPOUT.format(seed=dropout_step.SEED.value), [*uses, drop]
    zoom = Lines(f"zoom = Zoom.of({str(data.zoom)!r})", (Zoom,))
    return script(zoom, Lines(code, (*uses,)))


page()
