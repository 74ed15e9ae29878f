"""A compiled model run on an input: the values of each program line, and the parts of the model that compute them."""

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Tokens
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from headlight.expressions import excerpt
from headlight.programs.compiler import Compiled, compiled
from headlight.programs.functions import Value
from headlight.programs.interpreter import traced
from headlight.programs.layout import Subspace
from headlight.programs.program import Map, Selector, Sequence, Step, inputs_of, steps_of
from transformer_core.errors import ProgramError, TextError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.sites import site
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import OwnTokenizer

SAME = 1e-4  # weights that differ by no more count as equal


@dataclass(frozen=True, kw_only=True)
class LineRun:
    """A line of a program on an input.

    Attributes:
        number: of the line, from 1 on.
        source: the line.
        name: what the line calls its result.
        is_used: whether the output depends on it; other lines are not compiled.
        is_selector: whether it selects keys instead of computing a value.
        heads: layer and head of each head that belongs to it; of a selector, of those that attend as it says.
        layers: those whose feed-forward networks compute part of it.
        subspaces: of the residual stream that it reads and, at the end, writes.
        state: index into `ProgramRun.residual` where all of them are written.
        values: at each token; of a selector, the positions of the selected keys. None: it is not used, or the program
            has no value here, as `ProgramRun.problem` says.
    """

    number: int
    source: str
    name: str
    is_used: bool
    is_selector: bool
    heads: tuple[tuple[int, int], ...]
    layers: tuple[int, ...]
    subspaces: tuple[Subspace, ...]
    state: int
    values: tuple[Value, ...] | None


@dataclass(frozen=True, kw_only=True)
class UndefinedCase:
    """Values for which the function of a line is not defined."""

    number: int  # of the line
    code: str
    values: tuple[Value, ...]
    is_key: bool  # then the key is not selected; else the value is None


@dataclass(frozen=True, kw_only=True)
class ProgramRun:
    """A program and its compiled model on the same input.

    Attributes:
        labels: of what the model reads: <bos>, the tokens, and <eos> where it is encoder-only.
        lines: of the program, in order.
        problem: why the program has no output for this input; None where it has one.
        undefined: the first line with a function not defined for values that occur, and those values; None: no line.
        output: of the program at each token; () where there is none.
        predicted: by the model at each token.
        patterns: of every head.
        residual: before the first block, and in each layer after the heads and after the feed-forward network.
    """

    labels: tuple[str, ...]
    lines: tuple[LineRun, ...]
    problem: ProgramError | None
    undefined: UndefinedCase | None
    output: tuple[str, ...]
    predicted: tuple[str, ...]
    patterns: Float[np.ndarray, "layer head query key"]
    residual: Float[np.ndarray, "state pos d_model"]

    def line(self, number: int) -> LineRun:
        """Return a line by its number."""
        return next(line for line in self.lines if line.number == number)

    def agrees_with(self, other: "ProgramRun") -> bool:
        """Return True if another program, on the same input, gives the same values, outputs and patterns of heads."""
        if (self.output, self.predicted) != (other.output, other.predicted) or len(self.lines) != len(other.lines):
            return False
        return all(
            one.values == another.values
            and len(one.heads) == len(another.heads)
            and all(
                np.allclose(self.patterns[head], other.patterns[others], atol=SAME)
                for head, others in zip(one.heads, another.heads, strict=True)
            )
            for one, another in zip(self.lines, other.lines, strict=True)
        )

    def subspace(self, space: Subspace, state: int) -> Float[np.ndarray, "direction pos"]:
        """Return the value in a subspace of the residual stream at each position."""
        return self.residual[state, :, space.start : space.start + space.size].T


@torch.inference_mode()
def program_run(model: Transformer, tokenizer: OwnTokenizer, tokens: Tokens[str]) -> ProgramRun:
    """Run a program and its compiled model on the same input.

    Args:
        model: as `compile` returns it.
        tokenizer: of the model.
        tokens: of its vocabulary.

    Raises:
        ProgramError: the model was not compiled from a program.
        TextError: there are no tokens, too many tokens, or a token that is not in the vocabulary.
    """
    origin = compiled(model)
    _check(tokens, origin.vocab, origin.max_len)
    known = dict(zip(tokenizer.tokens(range(tokenizer.vocab_size)), range(tokenizer.vocab_size), strict=True))
    end = [] if origin.program.is_causal else [tokenizer.eos_id]
    ids = [tokenizer.bos_id, *(known[token] for token in tokens), *end]
    stack = "decoder" if origin.program.is_causal else "encoder"
    layers = range(origin.layout.n_layers)
    stems = ("resid_mid" if model.config.d_ff else "resid_post", "resid_post")  # without units, heads end the layer
    after = [site(stem, layer=layer, attention=stack) for layer in layers for stem in stems]
    states = [site("resid_pre", layer=0, attention=stack), *after]
    patterns = [site("pattern", layer=layer, attention=stack) for layer in layers]
    with capture(model, *dict.fromkeys([*states, *patterns])) as acts:
        logits = model(torch.tensor([ids]))
    values: dict[Step, list[Value]] = {}
    problem = None
    try:
        for step, computed in traced(origin.program, tokens):
            values[step] = computed
    except ProgramError as error:
        problem = error
    predicted = logits[0].argmax(dim=-1).tolist()[1 : len(tokens) + 1]
    return ProgramRun(
        labels=tuple(tokenizer.labels(ids)),
        lines=tuple(_lines(origin, values)),
        problem=problem,
        undefined=next(_undefined(values, is_causal=origin.program.is_causal), None),
        output=tuple(map(str, values.get(origin.program.output, ()))),
        predicted=tuple(tokenizer.tokens(predicted)),
        patterns=np.stack([acts[name][0].numpy() for name in patterns]),
        residual=np.stack([acts[name][0].numpy() for name in states]),
    )


def _check(tokens: Tokens[str], vocab: Tokens[str], most: int) -> None:
    """Check that a model can read an input.

    Raises:
        TextError: it cannot.
    """
    if not tokens:
        raise TextError("the input has no tokens; give at least one")
    if len(tokens) > most:
        raise TextError(
            "the input has {n} tokens; this model reads {most} at most, so remove some", n=len(tokens), most=most
        )
    for token in tokens:
        if token not in vocab:
            raise TextError(
                "“{token}” is not in the vocabulary; use {vocab}", token=token[:40], vocab=", ".join(vocab[:40])
            )


def _undefined(values: Mapping[Step, list[Value]], *, is_causal: bool) -> Iterator[UndefinedCase]:
    """Yield each case in which a function of the program is not defined for values that occur."""
    for step in values:
        match step:
            case Map(function=function, inputs=inputs):
                cases = list(zip(*(values[of] for of in inputs), strict=True))
            case Selector(keys=keys, queries=queries, predicate=function):
                of_keys = values[keys]
                seen = [of_keys[: q + 1] if is_causal else of_keys for q in range(len(of_keys))]
                cases = [(key, query) for query, of in zip(values[queries], seen, strict=True) for key in of]
            case _:
                continue
        for case in cases:
            if not function.is_defined(*case):
                is_key = isinstance(step, Selector)
                yield UndefinedCase(number=step.line, code=excerpt(function.source), values=case, is_key=is_key)


def _lines(origin: Compiled, values: Mapping[Step, list[Value]]) -> Iterator[LineRun]:
    layout, steps = origin.layout, steps_of(origin.program.output)
    heads = {step: (layer, head) for layer, of in enumerate(layout.heads) for head, step in enumerate(of)}
    layers = {step: layer for layer, of in enumerate(layout.feed_forward) for step in of}
    states: dict[Step, int] = {step: 2 * layer + 1 for step, (layer, _) in heads.items()}
    states |= {step: 2 * layer + 2 for step, layer in layers.items()}
    for number, source in origin.program.lines.items():
        of_line = [step for step in steps if step.line == number]
        last = of_line[-1] if of_line else None  # what the line computes; the others stand within it
        inputs = dict.fromkeys(one for step in of_line for one in (*inputs_of(step), step))
        inputs |= dict.fromkeys(one for step in inputs if isinstance(step, Selector) for one in step.inputs)
        read = [step for step in inputs if isinstance(step, Sequence) and step is not last]
        written = [last] if isinstance(last, Sequence) else []
        attending = [step for step in heads if step.line == number or step.selector is last]
        yield LineRun(
            number=number,
            source=source,
            name=source.partition("=")[0].strip(),
            is_used=last is not None,
            is_selector=isinstance(last, Selector),
            heads=tuple(heads[step] for step in attending),
            layers=tuple(sorted({layers[step] for step in of_line if step in layers})),
            subspaces=tuple(layout.subspaces[step] for step in (*read, *written)),
            state=max((states.get(step, 0) for step in (*read, *written)), default=0),
            values=tuple(values[last]) if last and last in values else None,
        )
