"""The oracle: one sentence at a time, without padding, found and patched by its written words alone."""

from dataclasses import dataclass

import torch
from torch import Tensor

import transformer_core as tc
from transformer_core.corpora.shipped.en_fr.minimal_pairs import MinimalPair, MinimalPairSentence


@dataclass(frozen=True)
class Sentence:
    """One side of a pair: its tokens up to the pronoun, and the places of its words."""

    src: Tensor  # [1, src]
    tgt: Tensor  # [1, tgt]
    words: list[str]  # of src
    own: int
    other: int

    def run(self, model: tc.Transformer) -> Tensor:
        """Logits where the pronoun comes, [vocab]."""
        with torch.no_grad():
            return model(self.src, self.tgt)[0, -1]

    def difference(self, model: tc.Transformer) -> float:
        logits = self.run(model)
        return float(logits[self.other] - logits[self.own])


def sentence(tokenizer: tc.Tokenizer, side: MinimalPairSentence) -> Sentence:
    own, other = ("il", "elle") if " parce qu'il " in side.pair.target else ("elle", "il")
    (own_id,), (other_id,) = tokenizer.encode(own), tokenizer.encode(other)
    src, tgt = tokenizer.encode(side.pair.source, eos=True), tokenizer.encode(side.pair.target, bos=True)
    tgt = tgt[: tgt.index(own_id)]
    words = [tokenizer.decode([token]).lower() for token in src]
    return Sentence(torch.tensor([src]), torch.tensor([tgt]), words, own_id, other_id)


def sides(
    tokenizer: tc.Tokenizer, pairs: tuple[MinimalPair, ...]
) -> list[tuple[MinimalPairSentence, Sentence, Sentence]]:
    """All masculine sides, then all feminine ones, each beside the other side of its pair."""
    both = [tuple(sentence(tokenizer, side) for side in pair.sides) for pair in pairs]
    masculine = [(pair.masculine, il, elle) for pair, (il, elle) in zip(pairs, both, strict=True)]
    feminine = [(pair.feminine, elle, il) for pair, (il, elle) in zip(pairs, both, strict=True)]
    return masculine + feminine


def place(one: Sentence, role: str) -> list[int]:
    """Positions of a role, by the words: no sentence has another "it"."""
    return [one.words.index("it") if role == "pronoun" else one.tgt.shape[1] - 1]


def captured(model: tc.Transformer, one: Sentence, site: str) -> tc.Activations:
    with tc.capture(model, site) as acts:
        one.run(model)
    return acts
