"""The similarity of the hidden states after each layer of A and of B."""

from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.texts.side_by_side import TokenAlignment, align_tokens, layer_likeness
from headlight.figures.heatmaps.model_matrices import layer_matrix
from headlight.language import say
from pages.explore.compare.data import ComparisonData, kept
from pages.shared import prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, call, named, value_of
from transformer_core.errors import mark

HEIGHT = 420  # px
FEW_TOKENS = 16  # on fewer tokens, CKA tends to be high
TEXTS = {"encoder": "source", "decoder": "target"}  # the text whose tokens each stack reads
AXES = "CKA, [state of A, state of B]"
STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder")}
LOOK_FOR = mark(
    "a strong diagonal: corresponding layers have similar states. A strong block: layers that change the state "
    "little. A row of low values: a state of A without a counterpart in B. CKA is 1 for states that differ only by "
    "rotation, scaling or translation, and 0 for states with nothing in common."
)
SHORT = mark(
    " The text is short: with {n} tokens, CKA tends to be high, so compare the values with each other rather than "
    "taking them at face value."
)


@dataclass(frozen=True, kw_only=True)
class StackPair:
    """A stack of A and a stack of B, with their paired tokens."""

    a: str
    b: str
    positions: TokenAlignment

    @property
    def name(self) -> str:
        """The name of the pair in code."""
        return self.a if self.a == self.b else f"{self.a}_{self.b}"

    def in_words(self) -> str:
        """Return the names of the two stacks, in words."""
        a, b = say(STACKS[self.a]), say(STACKS[self.b])
        return a if self.a == self.b else say("A’s {a} and B’s {b}", a=a, b=b)


def show(data: ComparisonData) -> None:
    """Draw a CKA matrix for each pair of stacks."""
    data, is_on_a = _on_one_text(data)
    pairs = _pairs(data)
    if not pairs:
        prose.note(
            say(
                "The two models tokenize this text differently, so their hidden states cannot be compared token by "
                "token. Choose two models with the same tokenizer."
            )
        )
        return
    with st.container(key="hl-compare-layers"):
        columns = st.columns(2, gap="medium")
    for column, pair, likeness in zip(columns, pairs, _likeness(data, pairs), strict=False):
        with column:
            _matrix(data, pair, likeness)
    if is_on_a:
        prose.note(say("The two texts have different tokens, so both models read A’s text here."))
    for pair in pairs:
        n_left_out = len(pair.positions.only_a) + len(pair.positions.only_b)
        if n_left_out:
            n_paired = len(pair.positions.pairs)
            prose.note(
                say(
                    "{n_paired} tokens occur on both sides and are compared; {n_left_out} occur on one side only "
                    "and are left out.",
                    n_paired=n_paired,
                    n_left_out=n_left_out,
                )
            )
    few = min(len(pair.positions.pairs) for pair in pairs)
    honest = say(SHORT, n=few) if few < FEW_TOKENS else ""
    prose.look_for(say(LOOK_FOR) + honest, definitions("cka", "residual-stream"))


def code(data: ComparisonData) -> list[Print]:
    """Return the lines that print what is shown."""
    data, _ = _on_one_text(data)
    return [*data.outputs, *(Print(likeness, AXES) for likeness in _likeness(data, _pairs(data)))]


def _on_one_text(data: ComparisonData) -> tuple[ComparisonData, bool]:
    """Return the data, in which B reads A's text if their tokens differ, and whether that was necessary.

    Raises:
        HeadlightError: B cannot read A's text.
    """
    pairs = _pairs(data)
    is_whole = all(not (pair.positions.only_a or pair.positions.only_b) for pair in pairs)
    if data.a.text == data.b.text or (is_whole and len(pairs) == len(_names(data))):
        return data, False
    return ComparisonData.of(data.a, replace(data.b, text=data.a.text, target=None)), True


def _pairs(data: ComparisonData) -> list[StackPair]:
    """Return the pairs of stacks that share enough tokens to be compared."""
    pairs = [
        StackPair(a=stack_a, b=stack_b, positions=value_of(_positions(data, stack_a, stack_b)))
        for stack_a, stack_b in _names(data)
    ]
    return [pair for pair in pairs if pair.positions.is_telling]


def _names(data: ComparisonData) -> list[tuple[str, str]]:
    """Return the stacks that both models have, or else the last stack of each."""
    a, b = ([stack for stack, text in TEXTS.items() if getattr(side.model_run, text)] for side in data.sides)
    return [(stack, stack) for stack in a if stack in b] or [(a[-1], b[-1])]


def _positions(data: ComparisonData, stack_a: str, stack_b: str) -> Expression:
    """Return the paired tokens of two stacks, taken from their self-attentions, as code."""
    return call(align_tokens, data.labels(data.a, stack_a)[0], data.labels(data.b, stack_b)[0])


def _likeness(data: ComparisonData, pairs: list[StackPair]) -> list[Expression]:
    from headlight.analysis.heads.outputs import layer_states

    a, b = (side.forward("states", layer_states, side.recipe.inputs) for side in data.sides)
    likeness = []
    for pair in pairs:
        compared = call(layer_likeness, a[pair.a], b[pair.b], _positions(data, pair.a, pair.b))
        likeness.append(named(f"cka_{pair.name}", kept(compared, waiting=say("Comparing all layers …"))))
    return likeness


def _matrix(data: ComparisonData, pair: StackPair, recipe: Expression) -> None:
    likeness: np.ndarray = value_of(recipe)
    rows, columns = (
        [say("embedding"), *(say("layer {layer}", layer=layer) for layer in range(n - 1))] for n in likeness.shape
    )
    name = say("{stacks}: CKA of the hidden states after each layer", stacks=pair.in_words())
    figure = layer_matrix(
        likeness,
        names=(f"A: {data.a.name}", f"B: {data.b.name}"),
        labels=(rows, columns),
        title=f"{name[:1].upper()}{name[1:]}",
        height=HEIGHT,
    )
    data.draw(
        figure,
        name=f"layers-{pair.a}-{pair.b}",
        key=f"compare-layers-{pair.a}-{pair.b}",
        csv=lambda: matrix_csv(likeness, "state_a", rows, "state_b", columns, "cka"),
        arrays=lambda: {"cka": likeness},
        code=[Print(recipe, AXES)],
    )
