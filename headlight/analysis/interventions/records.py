"""Interventions as records: what changes in a model, where, and how; an ordered stack of them is one experiment.

Records are plain values without torch: they compare equal by their fields, their `repr` is Python that a notebook runs,
and `to_json` packs them into an address.

>>> InterventionStack(
...     entries=(
...         Ablation(component=Component(kind="head", attention="cross", layer=1, heads=(2,)), texts=("The cat.",)),
...         CellEdit(attention="decoder", layer=0, heads=(1,), cells=((4, 2),), operation="knock_out"),
...         TokenSwap(side="source", positions=(3,), tokens=(17,)),
...     )
... )
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from headlight.analysis.interventions.record import MAX_NAME_CHARS, Record, items
from transformer_core.checked_fields import CountOrZero, Refusal, Rule, between, is_number
from transformer_core.errors import ConfigError, Message
from transformer_core.text.interface import Given

AttentionName = Literal["encoder", "decoder", "cross"]
ComponentKind = Literal[
    "head",
    "query",
    "key",
    "value",
    "pattern",
    "attention",
    "feed_forward",
    "resid_pre",
    "resid_mid",
    "resid_post",
]
Method = Literal["resample", "mean", "zero", "constant"]
Operation = Literal["set", "scale", "knock_out", "uniform"]
Direction = Literal["denoising", "noising"]
Continuation = Literal["own", "same"]
TextSide = Literal["source", "target"]

STEMS: dict[ComponentKind, str] = {
    "head": "z",
    "query": "q",
    "key": "k",
    "value": "v",
    "pattern": "pattern",
    "attention": "attn_out",
    "feed_forward": "mlp_out",
    "resid_pre": "resid_pre",
    "resid_mid": "resid_mid",
    "resid_post": "resid_post",
}
"""The stem of the hook point of each kind, as `sites.site` takes it."""

OF_HEADS: tuple[ComponentKind, ...] = ("head", "query", "key", "value", "pattern")
OF_STACK: tuple[ComponentKind, ...] = ("feed_forward", "resid_pre", "resid_mid", "resid_post")

MAX_ENTRIES = 32  # of a stack


@dataclass(frozen=True, kw_only=True, repr=False)
class Component(Record):
    """A part of a model whose activation is replaced: some heads, a whole sub-layer, or the residual stream."""

    refusals = (
        Refusal(
            lambda component: component.heads is not None and component.kind not in OF_HEADS,
            Message("the {kind} of a layer is not split by head; leave out heads, or choose the kind head"),
        ),
        Refusal(
            lambda component: component.attention == "cross" and component.kind in OF_STACK,
            Message("the {kind} belongs to a stack, not to cross-attention; choose encoder or decoder"),
        ),
    )

    kind: ComponentKind  # "head": its output z; "pattern": its weights; "attention": what the sub-layer adds
    attention: AttentionName  # of "feed_forward" and the residual stream: the stack, "encoder" or "decoder"
    layer: CountOrZero  # from 0
    heads: tuple[int, ...] | None = None  # from 0; keys and values count their own heads; None: all
    positions: tuple[int, ...] | None = None  # from 0, query positions; key positions for "key" and "value"; None: all


_OfComponent = Annotated[
    Component,
    Rule(
        lambda value: isinstance(value, Component),
        Message("{field} must be a {kind}; got {value!r}", field="component", kind="Component"),
    ),
]
_Name = Annotated[
    str,
    Rule(
        lambda value: isinstance(value, str) and len(value) <= MAX_NAME_CHARS,
        Message("the name of an intervention is a text of at most {n} characters", n=MAX_NAME_CHARS),
    ),
]
_Seed = Annotated[int, between(0, (1 << 32) - 1)]


def _needs_texts(ablation: Any) -> bool:
    return ablation.method == "resample" or (ablation.method == "mean" and not ablation.corpus)


@dataclass(frozen=True, kw_only=True, repr=False)
class Ablation(Record):
    """A component's activation replaced by one that holds no information about this text.

    The effect depends on the method (Miller et al. 2024): name it wherever a number is shown.
    """

    tag: ClassVar[str] = "ablation"
    refusals = (
        Refusal(
            lambda of: of.component.kind == "pattern" and of.method != "zero",
            Message(
                "the rows of a pattern depend on their own queries and keys, so it can only be set to zero; ablate the "
                "head instead, or patch the pattern"
            ),
        ),
        Refusal(
            lambda of: (of.method == "mean" and bool(of.constant)) != bool(of.corpus),
            Message("the mean over a corpus is in constant, and its name in corpus; give both or neither"),
        ),
        Refusal(
            lambda of: _needs_texts(of) and not of.texts,
            Message("{method} ablation takes its values from another text; name one"),
        ),
        Refusal(
            lambda of: of.method == "resample" and len(of.texts) > 1,
            Message("resample ablation takes one other text, got {n}; name one"),
            {"n": lambda of: len(of.texts)},
        ),
        Refusal(
            lambda of: of.texts and not _needs_texts(of),
            Message("{method} ablation uses no other text; leave out texts"),
        ),
        Refusal(
            lambda of: (of.method == "constant" or bool(of.corpus)) != bool(of.constant),
            Message("the method constant and the values of constant belong together; give both or neither"),
        ),
    )

    component: _OfComponent
    method: Method = "resample"  # "constant": the values of `constant`, such as optimal ones (Li and Janson 2024)
    texts: tuple[Given, ...] = ()  # "resample": one other text; "mean": one or more, or none and the mean in `constant`
    seed: _Seed = 0  # "resample": for drawing values at positions without a counterpart in the other text
    constant: tuple[float, ...] = ()  # "constant", "mean": one vector for each head, one after the other; float32
    corpus: _Name = ""  # "mean": the corpus that `constant` is the mean over
    name: _Name = ""
    enabled: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class Patch(Record):
    """A component's activation replaced by that of another run, the source run ("activation patching").

    Source: Vig et al. 2020, sec. 3; Meng et al. 2022, sec. 2.1; Heimersheim and Nanda 2024 for the two directions.
    """

    tag: ClassVar[str] = "patch"

    component: _OfComponent
    text: Given  # of the source run
    direction: Direction  # "denoising": the source run is the clean one; "noising": it is the corrupted one
    continuation: Continuation = "own"  # of the source run: what it generates, or the output of this run
    seed: _Seed = 0  # for drawing values at positions without a counterpart in the source run
    name: _Name = ""
    enabled: bool = True


def _highest(edit: Any) -> int:
    return 1 if edit.operation == "set" else 1000


@dataclass(frozen=True, kw_only=True, repr=False)
class CellEdit(Record):
    """Attention weights changed by hand: single cells, rows, columns or groups of cells.

    Cells that the mask forbids stay forbidden. Edits of scores ("knock_out", "uniform") act before the softmax, so
    before all others of the same attention, whatever their order.
    """

    tag: ClassVar[str] = "cells"
    refusals = (
        Refusal(
            lambda edit: edit.operation in ("set", "scale") and not is_number(edit.number),
            Message("{operation} needs a number; got {number!r}"),
        ),
        Refusal(
            lambda edit: edit.operation in ("set", "scale") and not 0 <= edit.number <= _highest(edit),
            Message("the number to {operation} cells by must be from 0 to {highest}; got {number!r}"),
            {"highest": _highest},
        ),
        Refusal(
            lambda edit: edit.operation in ("knock_out", "uniform") and edit.number is not None,
            Message("{operation} takes no number; leave it out"),
        ),
        Refusal(
            lambda edit: edit.operation in ("knock_out", "uniform") and edit.renormalize,
            Message("{operation} acts before the softmax, which renormalises anyway; leave out renormalize"),
        ),
        Refusal(
            lambda edit: edit.operation == "uniform" and edit.cells is not None,
            Message("uniform makes a head's whole pattern uniform; leave out cells"),
        ),
    )

    attention: AttentionName
    layer: CountOrZero  # from 0
    operation: Operation  # "knock_out": before the softmax (Geva et al. 2023); "uniform": equal scores
    heads: tuple[int, ...] | None = None  # from 0; None: all
    cells: tuple[tuple[int | None, int | None], ...] | None = None  # (query, key); None in a cell: a row or a column
    number: float | None = None  # "set": the weight, in [0, 1]; "scale": the factor
    renormalize: bool = False  # "set", "scale": rescale the other cells so that a row keeps its sum
    name: _Name = ""
    enabled: bool = True


@dataclass(frozen=True, kw_only=True, repr=False)
class TokenSwap(Record):
    """Input tokens replaced by others, one for one, so that no position moves."""

    tag: ClassVar[str] = "tokens"
    refusals = (
        Refusal(
            lambda swap: len(swap.positions) != len(swap.tokens),
            Message(
                "a token swap needs one token for each position; got {n_positions} positions and {n_tokens} tokens"
            ),
            {"n_positions": lambda swap: len(swap.positions), "n_tokens": lambda swap: len(swap.tokens)},
        ),
        Refusal(
            lambda swap: len(set(swap.positions)) < len(swap.positions),
            Message("a token swap names a position twice; name each once"),
        ),
    )

    side: TextSide  # "source": the encoder's input; "target": the decoder's input, a prompt too
    positions: tuple[int, ...]  # from 0, special tokens included
    tokens: tuple[int, ...]  # ids, one for each position
    name: _Name = ""
    enabled: bool = True


StackEntry = Ablation | Patch | CellEdit | TokenSwap
RECORDS: tuple[type[StackEntry], ...] = (Ablation, Patch, CellEdit, TokenSwap)


@dataclass(frozen=True, kw_only=True, repr=False)
class InterventionStack(Record):
    """Interventions in the order in which they act at a site; disabled ones do nothing."""

    entries: tuple[StackEntry, ...] = ()

    def __post_init__(self) -> None:
        """Check the entries."""
        object.__setattr__(self, "entries", items("entries", self.entries, None))
        if len(self.entries) > MAX_ENTRIES:
            raise ConfigError(
                "a stack can have at most {most} interventions, and this one would have {n}; remove some first",
                most=MAX_ENTRIES,
                n=len(self.entries),
            )
        for entry in self.entries:
            if not isinstance(entry, RECORDS):
                raise ConfigError("a stack contains interventions; got {kind}", kind=type(entry).__name__)

    @property
    def enabled(self) -> tuple[StackEntry, ...]:
        """The entries that act."""
        return tuple(entry for entry in self.entries if entry.enabled)

    @property
    def texts(self) -> tuple[Given, ...]:
        """The distinct other texts that enabled entries take values from."""
        named = (
            entry.texts if isinstance(entry, Ablation) else (entry.text,)
            for entry in self.enabled
            if isinstance(entry, Ablation | Patch)
        )
        return tuple(dict.fromkeys(text for texts in named for text in texts))
