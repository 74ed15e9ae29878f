"""Compile a program into a Transformer: every line becomes explicit weights.

Categorical values are one-hot in the residual stream, so W_Q W_K^T of a head is the table of its predicate, times
`COLDNESS`, which makes the softmax select. The first token, <bos>, scores half of it: it takes the attention of queries
that select nothing, and its value is the default. For `selector_width` it scores all of it and alone has a
value: the head outputs 1 / (1 + n), which the feed-forward network turns into n (`layout.units_of`).

Source: Weiss et al. 2021 and Lindner et al. 2023 (Tracr) for the idea; the construction is written here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headlight.programs.functions import Value
from headlight.programs.interpreter import value_sets
from headlight.programs.layout import BOS, EOS, ONE, HiddenUnits, Layout, layout_of, units_of
from headlight.programs.program import INDICES, TOKENS, Aggregate, Program, SelectorWidth, Sequence
from transformer_core.config import ModelConfig
from transformer_core.errors import ProgramError
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.block import Block
from transformer_core.model.feed_forward import FeedForward
from transformer_core.model.positions import LearnedPositions
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer, assemble
from transformer_core.text.tokenizer import OwnTokenizer, word_tokenizer

COLDNESS = 100.0  # score of a selected key; other keys score 0
MOST_PARAMETERS = 30_000_000
CERTAINTY = 30.0  # margin of the output's logit over all others


@dataclass(frozen=True, kw_only=True, eq=False)
class Compiled:
    """What a compiled model was made from; `model.program`."""

    program: Program
    layout: Layout
    vocab: tuple[str, ...]
    max_len: int

    def __deepcopy__(self, memo: object) -> "Compiled":
        """Return itself: it is immutable, and steps are compared by identity."""
        return self


def compile(
    program: Program | str, *, vocab: Iterable[str] | None = None, max_len: int | None = None
) -> tuple[Transformer, OwnTokenizer]:
    """Return a model that computes a program, and its tokenizer.

    The model reads <bos> and the tokens; its prediction at each token is the program's output there.

    Args:
        program: or its source, of a program that sees all keys.
        vocab: the tokens that may occur; None: those of the program.
        max_len: tokens of the longest input; None: that of the program.

    Raises:
        ProgramError: the program cannot be read, or needs too large a model.
    """
    program = Program(source=program) if isinstance(program, str) else program
    vocab = tuple(dict.fromkeys(program.vocab if vocab is None else vocab))
    max_len = program.max_len if max_len is None else max_len
    if not vocab or max_len < 1:
        raise ProgramError("a model needs at least one token in its vocabulary and inputs of at least one token")
    sets = value_sets(program, vocab, max_len)
    layout = layout_of(program, sets)
    tokenizer = word_tokenizer(_words(vocab, sets[program.output]))
    origin = Compiled(program=program, layout=layout, vocab=vocab, max_len=max_len)
    model = _Weights(origin, tokenizer).model()
    model.__dict__["program"] = origin
    return model, tokenizer


def words_of(program: Program) -> tuple[str, ...]:
    """Return the vocabulary of a compiled program after the special tokens: its inputs and its outputs.

    Raises:
        ProgramError: an invalid token, or sequences with too many values.
    """
    return _words(program.vocab, value_sets(program, program.vocab, program.max_len)[program.output])


def _words(vocab: tuple[str, ...], outputs: Iterable[Value]) -> tuple[str, ...]:
    words = tuple(dict.fromkeys((*vocab, *map(str, outputs))))
    tokenizer = word_tokenizer(words)
    for token in vocab:
        if tokenizer.tokens(tokenizer.encode(token)) != [token]:
            raise ProgramError(
                "“{token}” cannot be a token; use lower-case words, whole numbers or single signs", token=token
            )
    return words


def recompiled(model: Transformer, program: Program) -> Transformer:
    """Return a model that was compiled from a program and saved, with the roles of its heads.

    Raises:
        ProgramError: the program compiles to a model of other sizes.
    """
    again, _ = compile(program)
    if again.config != model.config:
        raise ProgramError("this program gives a model of other sizes")
    model.__dict__["program"] = compiled(again)
    return model


def compiled(model: Transformer) -> Compiled:
    """Return the program from which a model was compiled.

    Raises:
        ProgramError: the model was trained, not compiled.
    """
    origin = model.__dict__.get("program")
    if not isinstance(origin, Compiled):
        raise ProgramError("this model was not compiled from a program")
    return origin


class _Weights:
    """Writes the weights of one model."""

    def __init__(self, origin: Compiled, tokenizer: OwnTokenizer) -> None:
        self._origin, self._layout, self._tokenizer = origin, origin.layout, tokenizer
        self._ids = {word: i for i, word in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
        self._units = [units_of(steps, self._layout) for steps in self._layout.feed_forward]

    def model(self) -> Transformer:
        """Return the model, in evaluation mode.

        Raises:
            ProgramError: it would be too large.
        """
        config = self._config()
        n_parameters = sum(parameter.numel() for parameter in assemble(config).parameters())
        if n_parameters > MOST_PARAMETERS:
            raise ProgramError(
                "this program needs a model of {n:,} parameters, more than {most:,}; use a smaller vocabulary or "
                "shorter inputs",
                n=n_parameters,
                most=MOST_PARAMETERS,
            )
        model = assemble(config, device="cpu")
        stack = model.decoder or model.encoder
        assert stack is not None
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
            self._embed(stack)
            for layer, block in enumerate(stack.blocks):
                assert isinstance(block, Block)
                for head, step in enumerate(self._layout.heads[layer]):
                    self._head(block.self_attn, head, step)
                if self._units[layer].reads:
                    self._write_units(block.mlp, self._units[layer])
            self._unembed(model.unembed)
        return model.eval()

    def _config(self) -> ModelConfig:
        layout, tokenizer = self._layout, self._tokenizer
        spaces, d_heads = layout.subspaces, [1]
        for step in (step for steps in layout.heads for step in steps):
            n_values = 1
            if isinstance(step, Aggregate):
                space = spaces[step.values]
                n_values = space.size + (not space.is_numerical and step.default not in space.values)
            d_heads.append(max(spaces[step.selector.keys].size + 1, n_values))
        is_causal = self._origin.program.is_causal
        return ModelConfig(
            architecture="decoder_only" if is_causal else "encoder_only",
            n_encoder_layers=0 if is_causal else layout.n_layers,
            n_decoder_layers=layout.n_layers if is_causal else 0,
            vocab_size=tokenizer.vocab_size,
            d_model=layout.d_model,
            d_ff=max(len(units.reads) for units in self._units),
            n_heads=max(1, *map(len, layout.heads)),
            d_head=max(d_heads),
            max_seq_len=self._origin.max_len + 2,  # <bos> in front, and <eos> after what an encoder reads
            positions="learned",
            norm="none",
            norm_position="pre",
            attention_bias="none",
            scale_embeddings=False,
            tie_embeddings="none",
            unembed_bias=True,
            dropout=0.0,
            pad_id=tokenizer.pad_id,
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
        )

    def _embed(self, stack: Stack) -> None:
        """Write what tokens and positions put into the residual stream."""
        assert isinstance(stack.pos_embed, LearnedPositions)
        tokens, positions, spaces = stack.embed.weight, stack.pos_embed.table, self._layout.subspaces
        tokens[self._tokenizer.bos_id, BOS] = 1
        tokens[self._tokenizer.eos_id, EOS] = 1
        positions[:, ONE] = 1
        if TOKENS in spaces:
            for token in self._origin.vocab:
                tokens[self._ids[token], spaces[TOKENS].of(token)] = 1
        if INDICES in spaces:
            for index in range(self._origin.max_len):
                positions[index + 1, spaces[INDICES].of(index)] = 1

    def _at_bos(self, step: Sequence) -> dict[int, float]:
        """Return the value in a sequence's subspace at <bos>, which attends to itself: the default of a head."""
        space = self._layout.subspaces[step]
        if not isinstance(step, Aggregate):
            return {}
        return {space.start: float(step.default)} if space.is_numerical else {space.of(step.default): 1.0}

    def _read(self, step: Sequence) -> Tensor:
        """Return the rows that read a sequence [size, d_model]; at <bos> they read 0."""
        space = self._layout.subspaces[step]
        rows = torch.zeros(space.size, self._layout.d_model)
        rows[:, space.start : space.start + space.size] = torch.eye(space.size)
        for direction, value in self._at_bos(step).items():
            rows[direction - space.start, BOS] = -value
        return rows

    def _head(self, attention: MultiHeadAttention, head: int, step: Aggregate | SelectorWidth) -> None:
        layout, selector = self._layout, step.selector
        keys, queries = layout.subspaces[selector.keys], layout.subspaces[selector.queries]
        d_head, n_keys = attention.d_head, keys.size
        rows = slice(head * d_head, (head + 1) * d_head)
        q, k, v = (projection.weight[rows] for projection in (attention.q, attention.k, attention.v))
        out = attention.out.weight[:, rows]
        selected = torch.tensor(
            [[bool(selector.predicate(key, query)) for query in queries.values] for key in keys.values]
        )  # [key value, query value]
        coldness = COLDNESS / attention.scale
        q[:n_keys] = coldness * selected.float() @ self._read(selector.queries)
        k[:n_keys] = self._read(selector.keys)
        q[n_keys, ONE] = coldness * (1.0 if isinstance(step, SelectorWidth) else 0.5)
        k[n_keys, BOS], k[n_keys, EOS] = 1, -4  # <eos> is never selected
        if isinstance(step, SelectorWidth):
            v[0, BOS] = 1
            out[layout.widths[step].start, 0] = 1
            return
        values, written = layout.subspaces[step.values], layout.subspaces[step]
        v[: values.size] = self._read(step.values)
        if values.is_numerical:
            v[0, BOS] += step.default
            out[written.start, 0] = 1
            return
        for i, value in enumerate(values.values):
            out[written.of(value), i] = 1
        if step.default in values.values:
            v[values.values.index(step.default), BOS] += 1
        else:  # its own direction, read from <bos> alone
            v[values.size, BOS] = 1
            out[written.of(step.default), values.size] = 1

    def _write_units(self, mlp: FeedForward, units: HiddenUnits) -> None:
        for weight, of_units in ((mlp.up.weight, units.reads), (mlp.down.weight.T, units.writes)):
            entries = [(i, place, value) for i, unit in enumerate(of_units) for place, value in unit.items()]
            rows, columns, values = zip(*entries, strict=True)
            weight[rows, columns] = torch.tensor(values)
        mlp.up.bias[: len(units.biases)] = torch.tensor(units.biases)

    def _unembed(self, unembed: nn.Linear) -> None:
        """Write the last layer: the logit of the output is the highest by `CERTAINTY`.

        For a number x, the logit of a value v is 2 v x - v^2, up to a factor: highest for the nearest value.
        """
        space = self._layout.subspaces[self._origin.program.output]
        ids = [self._ids[str(value)] for value in space.values]
        if not space.is_numerical:
            unembed.weight[ids, range(space.start, space.start + space.size)] = CERTAINTY
            return
        values = torch.tensor([float(value) for value in space.values], dtype=torch.float64)
        nearest = float(values.diff().min()) if len(values) > 1 else 1.0
        factor = CERTAINTY / nearest**2
        unembed.bias[:] = float(-factor * (values.abs().max() + 1) ** 2)
        unembed.weight[ids, space.start] = (2 * factor * values).float()
        unembed.bias[ids] = (-factor * values**2).float()
