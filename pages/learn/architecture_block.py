"""The chosen block from all sides: what it does, its shapes and weights, a text on its way through it, its code."""

import html

import streamlit as st

from pages.learn import architecture_activation
from pages.learn.architecture_said import name_of, parameters_in_words, shape_in_words, table
from pages.learn.architecture_scene import Scene
from pages.shared import architecture_state
from transformer_core.analysis.blueprint.code import code_of
from transformer_core.analysis.blueprint.shapes import in_numbers, stages
from transformer_core.analysis.blueprint.weights import weights_of
from transformer_core.analysis.blueprint.words import does, sources
from transformer_core.language import grouped, mark, say

VIEWS = {
    "shapes": mark("Shapes"),
    "weights": mark("Weights"),
    "text": mark("On this text"),
    "code": mark("Code"),
}
BOX = "architecture-view-box"


def show(scene: Scene) -> None:
    """Draw the block."""
    config, box = scene.card.config, scene.box
    where = f"<code>{html.escape(box.module)}</code>" if box.module else ""
    told = html.escape(" · ".join([*sources(config, box), parameters_in_words(config, box)]))
    st.html(
        f"<div class='hl-arch-block'><h2 class='hl-subtitle'>{html.escape(name_of(config, box))}</h2>"
        f"<p class='hl-arch-does'>{html.escape(say(does(config, box)))}</p>"
        f"<p class='hl-small'>{told}</p>{where}</div>"
    )
    st.session_state[BOX] = architecture_state.SHOWN.value
    st.segmented_control(
        say("Show"),
        [*VIEWS],
        format_func=lambda name: say(VIEWS[name]),
        required=True,
        key=BOX,
        label_visibility="collapsed",
        on_change=lambda: architecture_state.SHOWN.set(st.session_state[BOX]),
    )
    match architecture_state.SHOWN.value:
        case "text":
            architecture_activation.show(scene)
        case "code":
            _code(scene)
        case "weights":
            _weights(scene)
        case _:
            _shapes(scene)


def _shapes(scene: Scene) -> None:
    """List what passes the block: its shape in symbols and with this text's numbers, and its hook point."""
    config, box = scene.card.config, scene.box
    numbers = scene.sizes_of(box)
    rows = []
    for stage in stages(config, box):
        axes = "".join(f"<span>{html.escape(axis)}</span>" for axis in stage.axes)
        site = stage.site.removeprefix(f"{box.module}.") if stage.is_hook_point else ""
        rows.append(
            [
                f"<div>{html.escape(say(stage.what))}</div><code>{html.escape(site)}</code>",
                f"<div class='hl-arch-axes'>{axes}</div>",
                shape_in_words(in_numbers(stage.axes, numbers)),
            ]
        )
    head = [say("what passes, and its hook point"), say("shape"), say("on this text")]
    st.html(table(head, rows, kind="hl-arch-shapes"))


def _weights(scene: Scene) -> None:
    """List the matrices of the block, or say that it has none; of a layer, what each of its parts has."""
    config, box = scene.card.config, scene.box
    weights = weights_of(config)[box.name]
    if not weights:
        st.html(f"<p class='hl-small'>{html.escape(say('This block has no weights: nothing in it is trained.'))}</p>")
        return
    rows = []
    for weight in weights:
        name = weight.name.removeprefix(f"{box.module}.")
        symbol, _, small = weight.symbol.partition("_")
        written = f"<i>{symbol}<sub>{small}</sub></i>" if symbol else ""
        shared = (
            say("shared with {name}", name=weight.shared_with) if weight.shared_with else grouped(weight.n_parameters)
        )
        rows.append([f"<code>{html.escape(name)}</code>", written, shape_in_words(weight.shape), shared])
    total = sum(weight.n_parameters for weight in weights)
    rows.append([f"<b>{html.escape(say('together'))}</b>", "", "", f"<b>{grouped(total)}</b>"])
    head = [say("weight"), "", say("shape"), say("parameters")]
    st.html(table(head, rows, kind="hl-arch-weights"))


def _code(scene: Scene) -> None:
    """Show the classes and functions that run."""
    for i, part in enumerate(code_of(scene.card.config, scene.box)):
        place = say("{file}, line {line}", file=part.file, line=part.line)
        with st.expander(f"**{part.name.replace('_', chr(92) + '_')}** · {place}", expanded=not i):
            st.code(part.text, language="python", height=420 if part.text.count("\n") > 20 else "content")
