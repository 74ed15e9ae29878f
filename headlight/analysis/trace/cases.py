"""Texts as a model reads them, each with the known dependencies: which tokens truly determine which."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.corpus import Alignment, Labelled, Pair, Text
from transformer_core.corpora.text_batches import with_targets
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.text.words import places_of_words

_MASKED_EVERY = 7  # tokens: about the share that training masks


@dataclass(frozen=True, kw_only=True)
class KnownText:
    """One text, or pair, as the model reads it, with its known alignment."""

    inputs: tuple[tuple[int, ...], ...]  # tokens: of the source and of the decoder's input, or of the one text
    targets: tuple[int, ...]  # the token to predict at each position of the last input; `IGNORED` beside labels
    determined: tuple[int, ...]  # positions whose target other tokens determine; all positions where nothing is known
    sources: tuple[tuple[int, ...], ...]  # for each determined place the keys that determine it; () where unknown
    antecedents: tuple[tuple[int, int], ...] = ()  # in the source: positions of a pronoun and a token of its antecedent

    def side(self, name: str) -> tuple[int, ...]:
        """Return the tokens of a side, "source" or "target", that give an attention its queries or keys."""
        return self.inputs[0] if name == "source" else self.inputs[-1]

    @property
    def aligned_attention(self) -> str:
        """The attention whose keys the sources are, by its name in ATTENTIONS."""
        return "cross" if len(self.inputs) == 2 else "decoder"

    def tensors(self, device: torch.device) -> tuple[Int[Tensor, "1 _"], ...]:
        """Return the inputs as the model takes them."""
        return tuple(torch.tensor([tokens], device=device) for tokens in self.inputs)


def case_of(
    config: ModelConfig, tokenizer: Tokenizer, item: Pair | Text, *, max_tokens: int | None = None
) -> KnownText:
    """Return a pair or a text as the model reads it in training, with its alignment between tokens.

    Args:
        config: of the model.
        tokenizer: the model's own. If a unit is not exactly one token, the alignment is unknown.
        item: of a held-out part; of a longer one than the model takes, the beginning.
        max_tokens: of each side at most this many are read; None: as many as the model takes.
    """
    room = min(max_tokens or config.max_seq_len, config.max_seq_len)
    if isinstance(item, Labelled):
        tokens, targets = with_targets([item], tokenizer, config.architecture)[0]
        labelled = tuple(place for place, target in enumerate(targets[:room]) if target != IGNORED)
        return KnownText(inputs=(tokens[:room],), targets=targets[:room], determined=labelled, sources=())
    if config.architecture == "encoder_only" and isinstance(item, Text):
        return _masked_case(tokenizer, item, room)
    is_pair = isinstance(item, Pair)
    read = tokenizer.target.encode(item.target if isinstance(item, Pair) else item.text, bos=True, eos=True)
    source = tokenizer.encode(item.source, eos=True) if isinstance(item, Pair) else read
    last, targets = tuple(read[:-1][:room]), tuple(read[1:][:room])
    inputs = (tuple(source[:room]), last) if is_pair else (last,)
    n_moved = 0 if is_pair else 1  # <bos> moves a text's units by one
    known = [
        (place, tuple(unit + n_moved for unit in units))
        for place, units in enumerate(_alignment(item, n_units=len(read) - 2, n_sources=len(source) - 1 - n_moved))
        if units and place < len(last) and max(units) + n_moved < len(inputs[0])
    ]
    return KnownText(
        inputs=inputs,
        targets=targets,
        determined=tuple(place for place, _ in known) or tuple(range(len(targets))),
        sources=tuple(keys for _, keys in known),
        antecedents=_antecedents(item, tokenizer, inputs[0]),
    )


def _antecedents(item: Pair | Text, tokenizer: Tokenizer, source: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the pronouns of a source and the tokens of their antecedents, as far as the source was read."""
    if not isinstance(item, Pair) or not item.antecedents:
        return ()
    words = places_of_words(tokenizer, source)
    read = [(one, other) for one, other in item.antecedents if max(one, other) < len(words)]
    return tuple(link for one, other in read for link in product(words[one], words[other]))


def _alignment(item: Pair | Text, *, n_units: int, n_sources: int) -> Alignment:
    """Return the alignment of an item if its units are the tokens, of which there are this many, else ()."""
    alignment = item.alignment or ()
    named = [source for sources in alignment for source in sources]
    return alignment if len(alignment) == n_units and max(named, default=-1) < n_sources else ()


def _masked_case(tokenizer: Tokenizer, text: Text, room: int) -> KnownText:
    """Return a text with every seventh token masked, the same ones each time."""
    assert tokenizer.mask_id is not None, "a model that fills in masks has a mask token"
    read = tokenizer.encode(text.text, bos=True, eos=True)[:room]
    places = tuple(range(_MASKED_EVERY // 2, len(read) - 1, _MASKED_EVERY))
    seen = tuple(tokenizer.mask_id if place in places else token for place, token in enumerate(read))
    return KnownText(inputs=(seen,), targets=tuple(read), determined=places, sources=())
