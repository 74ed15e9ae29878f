"""The paper's encoder-decoder under the names that other programs give its modules."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from transformer_core.checkpoints.describing import having, heads_question, n_layers, tying, usual_heads
from transformer_core.checkpoints.entries import (
    Entry,
    embeddings_of_pair,
    first_positions,
    in_layers,
    inside,
    modules,
    parts,
    scaled,
)
from transformer_core.checkpoints.layout import Description, Layout, SavedModel
from transformer_core.checkpoints.sinusoids import sinusoidal_kinds, stored_positions
from transformer_core.config import ModelConfig
from transformer_core.errors import Message
from transformer_core.text.interface import Tokenizer
from transformer_core.text.word_vocabularies import read_pair

_STACKS = ("encoder", "decoder")
_USUAL_WIDTH, _USUAL_HEADS = 512, 8  # the paper's base model, which these programs have as defaults

_SAMPLE_DEVIATION = Message(
    "Its normalization divides by the standard deviation with n - 1; its gains were multiplied by √((n - 1) / n), "
    "which gives the same result up to a relative 1e-6 / deviation."
)
_FRAMED = Message("In training, sources began with token {bos} and ended with token {eos}; type the first one, too.")
_SPLIT = Message(
    "Its words are read from its vocabularies. Texts are split at spaces and punctuation, and may have been split in "
    "another way for training."
)


@dataclass(frozen=True, kw_only=True)
class PaperNames:
    """A program's names of modules; those of a layer are relative to it, and pairs are of encoder and decoder."""

    program: str
    layer: str = "{stack}.layers.{i}"
    self_attn: tuple[str, str]
    cross_attn: str
    projections: tuple[str, str, str, str]  # q, k, v, out
    feed_forward: tuple[str, str]  # its two linear layers
    norms: tuple[tuple[str, str], tuple[str, str, str]]  # of the sub-layers, in their order
    norm_parts: tuple[str, str] = ("weight", "bias")
    embedding_norm: str = ""  # "": none
    final_norm: str = ""
    embeddings: tuple[str, str]
    positions: tuple[str, ...] = ()  # keys of the tables; (): they are not in the file
    output: str
    has_sample_deviation: bool = False  # normalizations divide by the deviation with n - 1
    special: Mapping[str, int]  # the tokens "pad", "bos" and "eos" in both vocabularies
    fields: Mapping[str, Any]  # of ModelConfig, for all models of the program

    @property
    def landmarks(self) -> tuple[str, str, str, str]:
        """Keys by which the layout is recognized: of the embeddings, the output, and the first cross-attention."""
        query = f"{self.layer.format(stack='decoder', i=0)}.{self.cross_attn}.{self.projections[0]}"
        src, tgt = self.embeddings
        return f"{src}.weight", f"{tgt}.weight", f"{self.output}.weight", f"{query}.weight"

    def layout(
        self,
        model_type: str,
        describe: Callable[[SavedModel, Mapping[str, Any]], Description] | None = None,
        **others: Any,
    ) -> Layout:
        """Return the layout of the program, given what differs from its other fields."""
        return Layout(
            name=self.program,
            model_type=model_type,
            recognize=having(*self.landmarks, *self.positions),
            describe=describe or self.describe,
            keys=self.keys,
            head=self.landmarks[2],
            ignored=stored_positions(self.positions),
            **others,
        )

    def describe(
        self, saved: SavedModel, given: Mapping[str, Any], *, tokenizer: Tokenizer | None = None
    ) -> Description:
        """Return the description of a model; equal matrices are tied.

        Args:
            saved: the model, with its tensors by the keys of the table.
            given: fields of ModelConfig that are known.
            tokenizer: in files of the program.
        """
        weights = saved.weights
        src, tgt, output, query = (weights[key] for key in self.landmarks)
        up = weights[f"{self.layer.format(stack='encoder', i=0)}.{self.feed_forward[0]}.weight"]
        d_model, width = tgt.shape[1], query.shape[0]
        usual = d_model == _USUAL_WIDTH
        of_words = None if tokenizer else read_pair(saved.folder, (src.shape[0], tgt.shape[0]), self.special)
        framed = Message(_FRAMED, bos=self.special["bos"], eos=self.special["eos"])
        n_heads = given.get("n_heads", _USUAL_HEADS if usual else 0)
        return Description(
            fields={
                "architecture": "encoder_decoder",
                "vocab_size": tgt.shape[0],
                "src_vocab_size": 0 if src.shape[0] == tgt.shape[0] else src.shape[0],
                "d_model": d_model,
                "d_ff": up.shape[0],
                "d_head": width // n_heads if n_heads and width != d_model else 0,
                "n_encoder_layers": self._n_layers(weights, 0),
                "n_decoder_layers": self._n_layers(weights, 1),
                "embedding_norm": bool(self.embedding_norm),
                **_positions([weights[key] for key in self.positions]),
                "attention_bias": "all" if self.landmarks[3].removesuffix("weight") + "bias" in weights else "none",
                "tie_embeddings": tying(tgt, output, src=src),
                "unembed_bias": f"{self.output}.bias" in weights,
                **{f"{role}_id": token for role, token in self.special.items()},
                **self.fields,
            },
            conventions=[usual_heads(d_model, _USUAL_HEADS, self.program)] if usual else [],
            questions=[] if usual else [heads_question(width)],
            notes=[
                *([_SAMPLE_DEVIATION] if self.has_sample_deviation else []),
                *([_SPLIT] if of_words else [] if tokenizer else [framed]),
            ],
            tokenizer=tokenizer or of_words,
        )

    def _n_layers(self, weights: Mapping[str, Tensor], side: int) -> int:
        before, after = self.layer.format(stack=_STACKS[side], i="|").split("|")
        return n_layers(weights, before, f"{after}.{self.self_attn[side]}.{self.projections[0]}.weight")

    def keys(self, config: ModelConfig) -> tuple[Entry, ...]:
        """Return the entries of all tensors."""
        src, tgt, head, _ = self.landmarks
        entries = [*embeddings_of_pair(config, src, tgt, head=head)]
        entries += [Entry(f"{self.output}.bias", ("unembed.bias",))] if config.unembed_bias else []
        if config.positions == "learned" and self.positions:
            tables = {key: (f"{stack}.pos_embed.table",) for key, stack in zip(self.positions, _STACKS, strict=True)}
            entries += [Entry(key, names, first_positions(config.max_seq_len)) for key, names in tables.items()]
        for side, stack in enumerate(_STACKS):
            for theirs, ours in ((self.embedding_norm, "embedding_norm"), (self.final_norm, "ln_final")):
                entries += self._norm(config, theirs.format(stack=stack), f"{stack}.{ours}") if theirs else []
            entries += in_layers(config, self.layer.format(stack=stack, i="*"), self._layer(config, side), stack=stack)
        return tuple(entries)

    def _layer(self, config: ModelConfig, side: int) -> Iterator[Entry]:
        projections = dict(zip(self.projections, ("q", "k", "v", "out"), strict=True))
        attentions = {self.self_attn[side]: "self_attn"} | ({self.cross_attn: "cross_attn"} if side else {})
        for theirs, ours in attentions.items():
            yield from inside(theirs, ours, modules(projections, parts(config.attention_bias == "all")))
        yield from modules(dict(zip(self.feed_forward, ("mlp.up", "mlp.down"), strict=True)))
        for theirs, ours in zip(self.norms[side], ("ln1", "ln_cross", "ln2") if side else ("ln1", "ln2"), strict=True):
            yield from self._norm(config, theirs, ours)

    def _norm(self, config: ModelConfig, theirs: str, ours: str) -> Sequence[Entry]:
        """Return the entries of a normalization, whose gain absorbs the factor between the two deviations."""
        gain, shift = self.norm_parts
        entries = [Entry(f"{theirs}.{gain}", (f"{ours}.weight",)), Entry(f"{theirs}.{shift}", (f"{ours}.bias",))]
        factor = ((config.d_model - 1) / config.d_model) ** 0.5
        return scaled(entries, {f"{ours}.weight": factor}) if self.has_sample_deviation else entries


def _positions(tables: Sequence[Tensor]) -> dict[str, Any]:
    """Return the fields for tables of positions: sinusoidal ones are recomputed, others are kept."""
    if not tables:
        return {}
    kinds = [kind for kind in sinusoidal_kinds(tables[0]) if all(kind in sinusoidal_kinds(table) for table in tables)]
    lengths = [table.numel() // table.shape[-1] for table in tables]
    return {"positions": kinds[0] if kinds else "learned", "max_seq_len": min(lengths)}
