"""Where the stage leads: the pages that show a zoom level in full, each in the matching state."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import streamlit as st

from headlight.language import say
from pages.explore.decoding import view_fields as decoding_fields
from pages.explore.decoding.view_fields import Branch
from pages.learn.start import view_fields
from pages.learn.start.data import StageData
from pages.learn.steps import view_fields as steps_fields
from pages.shared import prose
from pages.shared.view import state
from pages.shared.view.fields import written


class PageLink(NamedTuple):
    """A page, and the view that it opens with."""

    script: str
    label: str
    icon: str
    view: Mapping[str, str]  # beside the model and the text


def show(data: StageData) -> None:
    """Draw the links of the zoom level."""
    text = {state.MODEL.key: data.view.model, **state.text_parameters()}
    if data.generated_text:  # the other pages would let the model generate its own
        text |= {state.TARGET.key: data.generated_text}
    with st.container(horizontal=True, gap="medium", key="hl-start-links"):
        for link in links(data):
            icon = f":material/{link.icon}:"
            st.page_link(
                link.script,
                label=prose.plain(link.label),
                icon=icon,
                query_params={**text, **link.view},
                width="content",
            )


def links(data: StageData) -> Iterator[PageLink]:
    """Yield the links of the zoom level."""
    zoom = data.zoom
    head = {
        state.ATTENTION.key: zoom.attention,
        state.LAYER.key: str(zoom.layer),
        state.HEAD.key: str(zoom.head if zoom.head is not None else data.view.head),
    }
    match zoom.level:
        case "overview":
            yield PageLink("explore/heads/page.py", say("All heads"), "grid_view", {})
            yield PageLink("explore/decoding/page.py", say("This step in Decoding"), "edit_note", _decoding(data))
            yield PageLink("learn/positions/page.py", say("Positions"), "straighten", {})
            yield PageLink("learn/masks/page.py", say("Masks"), "grid_off", {})
            yield PageLink("learn/architecture/page.py", say("Architecture"), "account_tree", {})
        case "block":
            yield PageLink(
                "learn/architecture/page.py",
                say("This block in Architecture"),
                "account_tree",
                {"block": str(zoom), "show": "text"},
            )
        case "attention":
            yield PageLink("explore/heads/page.py", say("These heads on the Heads page"), "grid_view", head)
            yield PageLink("learn/masks/page.py", say("Edit this mask"), "grid_off", head)
        case "head":
            yield PageLink("explore/heads/page.py", say("This head on the Heads page"), "grid_view", head)
            yield PageLink(
                "learn/steps/page.py",
                say("This head step by step"),
                "footprint",
                head | (written(steps_fields.FIELDS) if _is_shown_elsewhere(data) else {}),
            )


def _is_shown_elsewhere(data: StageData) -> bool:
    """Whether other pages show the same tokens: the model's own, or a target that they are given."""
    return view_fields.is_models_own() or bool(data.generated_text)


def _decoding(data: StageData) -> dict[str, str]:
    """Return the view of Decoding at the same step, with the same tokens and settings."""
    if data.text.architecture == "encoder_only":
        return {}
    settings = {
        field.name: field.write(field.value) for field in view_fields.SAMPLING.values() if field.value != field.usual
    }
    branches = decoding_fields.BRANCHES.write((Branch(data.forced),)) if data.forced else ""
    forced = {decoding_fields.BRANCHES.name: branches} if branches else {}
    return {decoding_fields.STEP.name: str(data.step)} | settings | forced
