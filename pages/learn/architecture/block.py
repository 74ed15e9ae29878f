"""The chosen block: its function, shapes, weights, activations on a text, and code."""

from functools import partial

import streamlit as st

from headlight.analysis.blueprint.code import code_of
from headlight.analysis.blueprint.plan import weights_of
from headlight.analysis.blueprint.shapes import in_numbers, input_site, stages
from headlight.language import localized, say
from pages.learn.architecture import activation, view_fields
from pages.learn.architecture.activation import SHAPES
from pages.learn.architecture.data import ArchitectureData
from pages.learn.architecture.labels import does, name_of, parameters_in_words, shape_in_words, sources, table
from pages.shared import prose
from transformer_core.errors import HeadlightError, mark

VIEWS = {
    "shapes": mark("Shapes"),
    "weights": mark("Weights"),
    "text": mark("On this text"),
    "code": mark("Code"),
}


def show(data: ArchitectureData) -> None:
    """Draw the block."""
    config, box = data.card.config, data.box
    prose.html(
        "<div class='hl-arch-block'><h2 class='hl-subtitle'>{}</h2><p class='hl-arch-does'>{}</p>"
        "<p class='hl-small'>{}</p>{}</div>",
        name_of(config, box),
        say(does(config, box)),
        " · ".join([*sources(config, box), parameters_in_words(config, box)]),
        prose.markup("<code>{}</code>", box.module) if box.module else "",
    )
    view_fields.SHOWN.segmented(say("Show"), [*VIEWS], name=lambda name: say(VIEWS[name]))
    match view_fields.SHOWN.value:
        case "text":
            activation.show(data)
        case "code":
            _code(data)
        case "weights":
            _weights(data)
        case _:
            _shapes(data)


def _shapes(data: ArchitectureData) -> None:
    """List the activations of the block: shape in symbols and in numbers for this text, and hook point."""
    _typed_shapes(data)
    config, box = data.card.config, data.box
    numbers = data.sizes_of(box)
    rows = []
    for stage in stages(config, box):
        site = stage.site.removeprefix(f"{box.module}.") if stage.is_hook_point else ""
        rows.append(
            [
                prose.markup("<div>{}</div><code>{}</code>", say(SHAPES[stage.name]), site),
                prose.markup("<div class='hl-arch-axes'>{}</div>", prose.each("<span>{}</span>", stage.axes)),
                shape_in_words(in_numbers(stage.axes, numbers)),
            ]
        )
    head = [
        say("activation and hook point"),
        say("shape"),
        say("as entered") if data.has_typed_shapes else say("on this text"),
    ]
    with st.expander(say("Shape of each activation")):
        table(head, rows, kind="hl-arch-shapes")
    if box.kind == "feed_forward":
        _convolutions(data)


def _convolutions(data: ArchitectureData) -> None:
    """Compute the feed-forward network on this text as two convolutions too, and say how far the outputs differ."""
    from headlight.analysis.blueprint.capture import convolution_error
    from transformer_core.model.feed_forward import FeedForward

    config, box = data.card.config, data.box
    try:
        network = data.source.load()[0].get_submodule(box.module)
        assert isinstance(network, FeedForward)
        block = box.module.removesuffix(".mlp")
        x, output = data.values(input_site(config, box)), data.values(f"{block}.hook_mlp_out")
        error = convolution_error(network, x, output)
    except HeadlightError as error_of_model:
        prose.warning(say("This cannot be captured: {why}.", why=str(error_of_model)))
        return
    words = say(
        "The same network as two convolutions with kernel size 1 over the positions (sec. 3.3), with the same "
        "weights [{d_ff}, {d_model}, 1] and [{d_model}, {d_ff}, 1]. On this text the two outputs differ by at most "
        "{error}.",
        d_ff=config.d_ff,
        d_model=config.d_model,
        error=localized(error, ".1e"),
    )
    prose.paragraph(words)


def _typed_shapes(data: ArchitectureData) -> None:
    """Draw the text boxes for the shape of a batch, from which all shapes are computed."""
    labels = {"encoder": say("Shape of the source"), "decoder": say("Shape of the target")}
    if len(data.plan.stacks) == 1:
        labels = dict.fromkeys(labels, say("Shape of the tokens"))
    with st.container(horizontal=True, gap="small", key="hl-arch-typed"):
        for stack in data.plan.stacks:
            field = view_fields.SHAPES[stack]
            field.text(
                labels[stack],
                placeholder=f"[{data.batch}, {data.lengths[stack]}]",
                max_chars=20,
                shown=str(field.value or ""),
                take=partial(view_fields.type_shape, stack),
            )
    if trouble := view_fields.TROUBLE.value:
        prose.note(trouble)
    longest, most = max(data.shape_lengths.values()), data.card.config.max_seq_len
    if longest > most:
        words = say(
            "{n:,} tokens exceed this model’s {most:,} positions; the shapes are those of a model with more positions.",
            n=longest,
            most=most,
        )
        prose.note(words)


def _weights(data: ArchitectureData) -> None:
    """List the weight matrices of the block, or say that it has none; for a layer, list those of each part."""
    config, box = data.card.config, data.box
    weights = weights_of(config)[box.name]
    if not weights:
        prose.small(say("This block has no trainable weights."))
        return
    rows = []
    for weight in weights:
        name = weight.name.removeprefix(f"{box.module}.")
        symbol, _, small = weight.symbol.partition("_")
        written = prose.markup("<i>{}<sub>{}</sub></i>", symbol, small) if symbol else ""
        shared = (
            say("shared with {name}", name=weight.shared_with) if weight.shared_with else localized(weight.n_parameters)
        )
        rows.append([prose.markup("<code>{}</code>", name), written, shape_in_words(weight.shape), shared])
    total = sum(weight.n_parameters for weight in weights)
    rows.append([prose.markup("<b>{}</b>", say("total")), "", "", prose.markup("<b>{}</b>", localized(total))])
    head = [say("weight"), "", say("shape"), say("parameters")]
    table(head, rows, kind="hl-arch-weights")


def _code(data: ArchitectureData) -> None:
    for i, part in enumerate(code_of(data.card.config, data.box)):
        place = say("{file}, line {line}", file=part.file, line=part.line)
        with st.expander(f"**{prose.plain(part.name)}** · {prose.plain(place)}", expanded=not i):
            st.code(part.text, language="python", height=420 if part.text.count("\n") > 20 else "content")
