"""Architecture: what is inside, what shape does each tensor have, where are the parameters?"""

from collections.abc import Callable

import streamlit as st

from headlight.analysis.blueprint.plan import blueprint_of, weights_of
from headlight.analysis.blueprint.shapes import in_numbers, sizes, stages
from headlight.language import say
from pages.learn import dropout_step
from pages.learn.architecture import PAGE, activation, block, cost, families, parameters, view_fields
from pages.learn.architecture.components.drawing import drawing
from pages.learn.architecture.data import MOST_TOKENS, ArchitectureData
from pages.learn.architecture.labels import on_drawing
from pages.shared import code_expander, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Lines, call, named, script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Figure 1 of the paper, drawn from this model: exactly the blocks it has. Choose one to see its tensor shapes, "
    "its weights, its activations on your text, and the code that runs."
)
PARTS = {
    "drawing": mark("Drawing"),
    "parameters": mark("Parameters"),
    "cost": mark("Cost"),
    "stream": mark("Residual stream"),
    "families": mark("Families"),
}
LOOK = mark(
    "each sub-layer reads the residual stream, which also runs around it, and adds its output to it. Point at a block "
    "to highlight its inputs and outputs."
)
DROPOUT = mark(
    "Dropout is not drawn: in training it is applied to the embeddings, the attention weights, and each sub-layer’s "
    "output before the residual addition."
)
MISSED = mark("This model has no block “{name}”; another one is shown.")
CUT = mark("This text is long: only its first {n} tokens are captured.")

SHAPES = """
for stage in stages(model.config, box):
    print(stage.name, stage.axes, in_numbers(stage.axes, numbers), stage.site)
for weight in weights_of(model.config)[box.name]:
    print(weight.name, weight.shape, weight.n_parameters)
"""


@st.fragment
def architecture() -> None:
    """Draw the model, or the chosen part; a click reruns only this fragment."""
    try:
        data = ArchitectureData.current(state.card(view_fields.PAGE))
    except HeadlightError as error:
        prose.warning(say("This cannot be shown: {why}.", why=error))
        return
    if data is None:
        return
    notes = [say(MISSED, name=data.missed)] if data.missed else []
    notes += [say(CUT, n=MOST_TOKENS)] if data.is_cut else []
    if notes:
        prose.note(" ".join(notes))
    view_fields.PART.segmented(say("Show"), [*PARTS], name=lambda name: say(PARTS[name]))
    look = ""
    code: Callable[[ArchitectureData], str] | None = None
    match view_fields.PART.value:
        case "parameters":
            parameters.show(data)
            code, look = parameters.code, parameters.look(data)
        case "cost":
            cost.show(data)
            code = cost.code
        case "stream":
            activation.show_stream(data)
            code = activation.stream_code
        case "families":
            families.show(data)
            prose.look_for(say(families.LOOK), definitions("causal-mask", "cross-attention"))
        case _:
            _drawing(data)
            code, look = _code, f"{say(LOOK)} {say(DROPOUT)}" if dropout_step.is_shown() else say(LOOK)
    if look:
        prose.look_for(look, definitions("residual-stream", "layer-norm", "pre-norm", "feed-forward", "logits"))
    if code is not None:
        code_expander.code(lambda: code(data))
    state.publish()


def _code(data: ArchitectureData) -> str:
    config = data.config_recipe
    box = named("box", call(blueprint_of, config).boxes[data.box.name])
    numbers = named("numbers", call(sizes, config, box, batch=data.batch, lengths=data.shape_lengths))
    return script(Lines(SHAPES, (config, box, numbers, stages, in_numbers, weights_of)))


def _drawing(data: ArchitectureData) -> None:
    is_pair = len(data.plan.stacks) > 1
    config, lengths = data.card.config, data.shape_lengths
    texts = {
        "encoder": data.view.whole_text,
        "decoder": " ".join(data.labels.get("decoder", ())) if is_pair else data.view.whole_text,
    }
    with st.container(key="hl-arch-stage" if is_pair else "hl-arch-stage-alone"):
        left, right = st.columns([6, 5] if is_pair else [2, 3], gap="medium")
    with left:
        drawing(
            data.plan,
            label_of=lambda box: on_drawing(config, box, lengths),
            texts=texts,
            output=data.model_run.output if data.model_run.predicts else "",
            lengths=lengths,
            chosen=data.box.name,
            open_layers=view_fields.open_layers(),
            key=view_fields.DRAWING,
            on_block=view_fields.on_block,
        )
    with right, st.container(key="hl-arch-block"):
        block.show(data)


PAGE.show(LEAD, architecture)
