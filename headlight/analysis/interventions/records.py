"""Interventions as records: what is changed in a model, where, and how; an ordered stack of them is one experiment.

Records are plain values without torch: they compare equal by their fields, their `repr` is Python that a notebook runs,
and `to_json` packs them into an address.

>>> Stack(
...     entries=(
...         Ablation(component=Component(kind="head", attention="cross", layer=1, heads=(2,)), texts=("The cat.",)),
...         CellEdit(attention="decoder", layer=0, heads=(1,), cells=((4, 2),), operation="knock_out"),
...         TokenSwap(side="source", positions=(3,), tokens=(17,)),
...     )
... )
"""

from dataclasses import MISSING, dataclass, fields
from typing import ClassVar, Literal

from headlight.analysis.interventions.record_checks import (
    cells_of,
    check_name,
    check_seed,
    check_type,
    float32_of,
    indices_of,
    items_of,
    texts_of,
)
from transformer_core.checked_fields import CountOrZero, check_fields, is_number
from transformer_core.errors import ConfigError
from transformer_core.text.interface import Given

AttentionName = Literal["encoder", "decoder", "cross"]
Kind = Literal[
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
Side = Literal["source", "target"]

STEMS: dict[Kind, str] = {
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
"""What passes at the hook point of each kind, as `sites.site` calls it."""

OF_HEADS: tuple[Kind, ...] = ("head", "query", "key", "value", "pattern")
OF_STACK: tuple[Kind, ...] = ("feed_forward", "resid_pre", "resid_mid", "resid_post")

MAX_ENTRIES = 32  # of a stack


class Record:
    """A record whose representation names only the fields that differ from their defaults."""

    def __repr__(self) -> str:
        """Return Python that gives an equal record."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        usual = {f.name: f.default for f in fields(self)}  # type: ignore[arg-type]
        written = (f"{n}={v!r}" for n, v in own.items() if usual[n] is MISSING or v != usual[n])
        return f"{type(self).__name__}({', '.join(written)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Component(Record):
    """A part of a model whose activation is replaced: some heads, a whole sub-layer, or the residual stream."""

    kind: Kind  # "head": its output z; "pattern": its weights; "attention": all that the sub-layer adds
    attention: AttentionName  # "encoder", "decoder" or "cross"; of a feed-forward or the residual stream, the stack
    layer: CountOrZero  # from 0
    heads: tuple[int, ...] | None = None  # from 0; those of keys and values count their own; None: all
    positions: tuple[int, ...] | None = None  # from 0, of the queries, of keys and values their own; None: all

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if self.heads is not None:
            object.__setattr__(self, "heads", indices_of("heads", self.heads))
        if self.positions is not None:
            object.__setattr__(self, "positions", indices_of("positions", self.positions))
        if self.heads is not None and self.kind not in OF_HEADS:
            raise ConfigError(
                "the {kind} of a layer is not split by head; leave out heads, or choose the kind head",
                kind=self.kind,
            )
        if self.attention == "cross" and self.kind in OF_STACK:
            raise ConfigError(
                "the {kind} belongs to a stack, not to cross-attention; choose encoder or decoder",
                kind=self.kind,
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class Ablation(Record):
    """A component's activation replaced by one that says nothing about this text.

    The effect depends on the method (Miller et al. 2024): name it wherever a number is shown.
    """

    tag: ClassVar[str] = "ablation"

    component: Component
    method: Method = "resample"  # "constant": the values of `constant`, such as optimal ones (Li and Janson 2024)
    texts: tuple[Given, ...] = ()  # "resample": one other text; "mean": one or more, or none and the mean in `constant`
    seed: int = 0  # "resample": of the draw at positions that have no counterpart in the other text
    constant: tuple[float, ...] = ()  # "constant", "mean": one vector for each head, one after the other; float32
    corpus: str = ""  # "mean": of whose texts `constant` is the mean
    name: str = ""
    enabled: bool = True

    def __post_init__(self) -> None:
        """Check the fields, each by itself and together."""
        check_fields(self)
        check_name(self.name)
        check_name(self.corpus)
        check_type("component", self.component, Component)
        check_seed(self.seed)
        object.__setattr__(self, "texts", texts_of(self.texts))
        object.__setattr__(self, "constant", float32_of(self.constant))
        if self.component.kind == "pattern" and self.method != "zero":
            raise ConfigError(
                "the rows of a pattern depend on their own queries and keys, so it can only be set to zero; ablate the "
                "head instead, or patch the pattern"
            )
        if (self.method == "mean" and bool(self.constant)) != bool(self.corpus):
            raise ConfigError("the mean over a corpus is in constant, and its name in corpus; give both or neither")
        needs_texts = self.method == "resample" or (self.method == "mean" and not self.corpus)
        if needs_texts and not self.texts:
            raise ConfigError("{method} ablation takes its values from another text; name one", method=self.method)
        if self.method == "resample" and len(self.texts) > 1:
            raise ConfigError("resample ablation takes one other text, got {n}; name one", n=len(self.texts))
        if not needs_texts and self.texts:
            raise ConfigError("{method} ablation uses no other text; leave out texts", method=self.method)
        if (self.method == "constant" or bool(self.corpus)) != bool(self.constant):
            raise ConfigError("the method constant and the values of constant belong together; give both or neither")


@dataclass(frozen=True, kw_only=True, repr=False)
class Patch(Record):
    """A component's activation replaced by the one of another run, the source run ("activation patching").

    Source: Vig et al. 2020, sec. 3; Meng et al. 2022, sec. 2.1; Heimersheim and Nanda 2024 for the two directions.
    """

    tag: ClassVar[str] = "patch"

    component: Component
    text: Given  # that the source run reads
    direction: Direction  # "denoising": the source run is the clean one; "noising": it is the corrupted one
    continuation: Continuation = "own"  # of the source run: what it writes itself, or the output of this run
    seed: int = 0  # of the draw at positions that have no counterpart in the source run
    name: str = ""
    enabled: bool = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        check_name(self.name)
        check_type("component", self.component, Component)
        check_seed(self.seed)
        texts_of((self.text,))


@dataclass(frozen=True, kw_only=True, repr=False)
class CellEdit(Record):
    """Attention weights changed by hand: single cells, rows, columns or groups of cells.

    Cells that the mask forbids stay forbidden. Edits of scores ("knock_out", "uniform") act before the softmax, so
    before all others of the same attention, whatever their order.
    """

    tag: ClassVar[str] = "cells"

    attention: AttentionName
    layer: CountOrZero  # from 0
    operation: Operation  # "knock_out": before the softmax (Geva et al. 2023); "uniform": equal scores
    heads: tuple[int, ...] | None = None  # from 0; None: all
    cells: tuple[tuple[int | None, int | None], ...] | None = None  # (query, key); None: every one, a row or a column
    number: float | None = None  # "set": the weight, in [0, 1]; "scale": the factor
    renormalize: bool = False  # "set", "scale": the other cells of a row share the rest; else the row's sum changes
    name: str = ""
    enabled: bool = True

    def __post_init__(self) -> None:
        """Check the fields, each by itself and together."""
        check_fields(self)
        check_name(self.name)
        if self.heads is not None:
            object.__setattr__(self, "heads", indices_of("heads", self.heads))
        if self.cells is not None:
            object.__setattr__(self, "cells", cells_of(self.cells))
        if self.operation in ("set", "scale"):
            if not is_number(self.number):
                raise ConfigError(
                    "{operation} needs a number; got {number!r}", operation=self.operation, number=self.number
                )
            object.__setattr__(self, "number", float(self.number or 0))
            highest = 1 if self.operation == "set" else 1000
            if not 0 <= (self.number or 0) <= highest:
                raise ConfigError(
                    "the number to {operation} cells by must be from 0 to {highest}; got {number!r}",
                    operation=self.operation,
                    highest=highest,
                    number=self.number,
                )
        elif self.number is not None:
            raise ConfigError("{operation} takes no number; leave it out", operation=self.operation)
        elif self.renormalize:
            raise ConfigError(
                "{operation} acts before the softmax, which renormalises anyway; leave out renormalize",
                operation=self.operation,
            )
        if self.operation == "uniform" and self.cells is not None:
            raise ConfigError("uniform makes a head's whole pattern uniform; leave out cells")


@dataclass(frozen=True, kw_only=True, repr=False)
class TokenSwap(Record):
    """Input tokens replaced by others, one for one, so that no position moves."""

    tag: ClassVar[str] = "tokens"

    side: Side  # "source": what an encoder reads; "target": what a decoder reads, a prompt too
    positions: tuple[int, ...]  # from 0, among the tokens with the special ones
    tokens: tuple[int, ...]  # ids, one for each position
    name: str = ""
    enabled: bool = True

    def __post_init__(self) -> None:
        """Check the fields, each by itself and together."""
        check_fields(self)
        check_name(self.name)
        object.__setattr__(self, "positions", indices_of("positions", self.positions))
        object.__setattr__(self, "tokens", indices_of("tokens", self.tokens))
        if len(self.positions) != len(self.tokens):
            raise ConfigError(
                "a token swap needs one token for each position; got {n_positions} positions and {n_tokens} tokens",
                n_positions=len(self.positions),
                n_tokens=len(self.tokens),
            )
        if len(set(self.positions)) < len(self.positions):
            raise ConfigError("a token swap names a position twice; name each once")


Entry = Ablation | Patch | CellEdit | TokenSwap
RECORDS: tuple[type[Entry], ...] = (Ablation, Patch, CellEdit, TokenSwap)


@dataclass(frozen=True, kw_only=True, repr=False)
class Stack(Record):
    """Interventions in the order in which they act at one site; a disabled one does nothing."""

    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        """Check the entries."""
        entries = items_of("entries", self.entries, None)
        if len(entries) > MAX_ENTRIES:
            raise ConfigError(
                "a stack holds at most {most} interventions and this one would have {n}; remove some first",
                most=MAX_ENTRIES,
                n=len(entries),
            )
        object.__setattr__(self, "entries", entries)
        for entry in self.entries:
            if not isinstance(entry, RECORDS):
                raise ConfigError("a stack holds interventions; got {kind}", kind=type(entry).__name__)

    @property
    def enabled(self) -> tuple[Entry, ...]:
        """The entries that act."""
        return tuple(entry for entry in self.entries if entry.enabled)

    @property
    def texts(self) -> tuple[Given, ...]:
        """The other texts that enabled entries take values from, each once."""
        named = [
            text
            for entry in self.enabled
            if isinstance(entry, Ablation | Patch)
            for text in (entry.texts if isinstance(entry, Ablation) else (entry.text,))
        ]
        return tuple(dict.fromkeys(named))
