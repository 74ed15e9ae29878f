"""What a head is good for, in two numbers that need each other: where it looks, and what is lost without it.

Looking is measured against what is known to be right (a corpus's true alignment) and against the simplest habits; being
needed is measured by taking the head away. A head may look at the right place and change nothing, or the other way
round.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from transformer_core.analysis.attentions import ATTENTIONS, Attention, attentions_of
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import zero_heads
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class HeadScore:
    """One head, measured on some texts; of its attention, the mean shares, in [0, 1]; None in cross-attention."""

    attention: str  # its name in ATTENTIONS
    layer: int
    head: int
    aligned: float | None  # on the places that truly determine what is said next; None: not known for these texts
    previous: float | None  # on the token before
    first: float | None  # on the first token
    near: float | None  # on the token itself and up to three to either side, of tokens that have more to look at
    effect: float  # nats by which the loss of what is determined rises without the head

    @property
    def habit(self) -> str:
        """What it does with most of its attention, and with how much; "" where it has none of the plain habits."""
        habits = {
            "looks at what determines the next token": self.aligned,
            "looks at the token before": self.previous,
            "rests on the first token": self.first,
        }
        habit, share = max(((h, s) for h, s in habits.items() if s is not None), key=lambda found: found[1])
        if share >= _NOTABLE_SHARE:
            return f"{habit} with {share:.0%} of its attention"
        if self.near is not None and self.near >= _NOTABLE_SHARE_NEAR:
            return f"stays within {_NEAR} tokens with {self.near:.0%} of its attention"
        return ""

    def in_words(self) -> str:
        """Return one sentence about what the head does, or "" where nothing stands out."""
        if not self.habit and self.effect < _NOTABLE_EFFECT:
            return ""
        return f"{self.habit or 'has none of the plain habits and is needed all the same'}; {self._loss_in_words()}"

    def _loss_in_words(self) -> str:
        if abs(self.effect) < 0.005:
            return "without it the loss stays as it is"
        return f"without it the loss {'rises' if self.effect > 0 else 'falls'} by {abs(self.effect):.2f} nats"


_NOTABLE_SHARE, _NOTABLE_SHARE_NEAR, _NOTABLE_EFFECT = 0.4, 0.6, 0.04
_NEAR = 3  # tokens
_MASKED_EVERY = 7  # tokens: about the share that training masks


class _Case(NamedTuple):
    """One text, or pair, as the model reads it, and what is known of it."""

    inputs: tuple[Int[Tensor, "1 pos"], ...]
    targets: Int[Tensor, " place"]  # the token that is to be said at each place of the last input
    determined: list[int]  # places at which that is determined by others; all of them where nothing is known
    sources: list[tuple[int, ...]]  # for each determined place the keys that determine it


@torch.inference_mode()
def score_heads(model: Transformer, tokenizer: Tokenizer, items: Sequence[Pair] | Sequence[Text]) -> list[HeadScore]:
    """Measure every head.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own; one token a unit, where alignments are to count.
        items: texts to measure on, held out; some dozens give two digits.

    Returns:
        The heads in the order of the forward pass. The encoder's have no alignment of their own: theirs is None.
    """
    cases = [_case(model, tokenizer, item) for item in items]
    whole = _mean_loss(model, cases)
    shares = [_shares(model, case) for case in cases]
    scores = []
    for name, attention in attentions_of(model.config).items():
        for layer in range(attention.n_layers(model.config)):
            for head in range(model.config.n_heads):
                with intervene(model, {attention.site(layer, "hook_z"): zero_heads([head])}):
                    effect = _mean_loss(model, cases) - whole
                found = [share[name, layer] for share in shares]
                aligned, previous, first, near = (_mean([f[i] for f in found], head) for i in range(4))
                scores.append(
                    HeadScore(
                        attention=name,
                        layer=layer,
                        head=head,
                        aligned=aligned,
                        previous=previous,
                        first=first,
                        near=near,
                        effect=effect,
                    )
                )
    return scores


def known_heads(scores: Sequence[HeadScore], *, n_most: int = 6) -> list[dict[str, Any]]:
    """Return what a card says of heads: those with a habit, and two of those that are needed without one.

    The most needed come first.
    """
    needed = sorted((score for score in scores if score.in_words()), key=lambda score: -score.effect)
    without_habit = [score for score in needed if not score.habit][:2]
    telling = [score for score in needed if score.habit or score in without_habit][:n_most]
    return [
        {
            "does": f"{ATTENTIONS[s.attention].title}, layer {s.layer}, head {s.head}: {s.in_words()}.",
            **{k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(s).items()},
        }
        for s in telling
    ]


def _case(model: Transformer, tokenizer: Tokenizer, item: Any) -> _Case:
    """Encode a pair or a text as in training, and put its alignment on tokens: <bos> moves a text's units by one."""
    if model.config.architecture == "encoder_only":
        return _masked_case(model, tokenizer, item)
    is_pair = isinstance(item, Pair)
    read = tokenizer.encode(item.target if is_pair else item.text, bos=True, eos=True)
    n_moved = 0 if is_pair else 1
    known = [(place, sources) for place, sources in enumerate(item.alignment or ()) if sources]
    determined = [place for place, _ in known] or list(range(len(read) - 1))
    device = next(model.parameters()).device
    row = torch.tensor([read], device=device)
    inputs: tuple[Tensor, ...] = (row[:, :-1],)
    if is_pair:
        inputs = (torch.tensor([tokenizer.encode(item.source, eos=True)], device=device), *inputs)
    keys = [tuple(source + n_moved for source in sources) for _, sources in known]
    return _Case(inputs=inputs, targets=row[0, 1:], determined=determined, sources=keys)


def _masked_case(model: Transformer, tokenizer: Tokenizer, text: Text) -> _Case:
    """Encode a text with every seventh token masked, the same ones each time."""
    assert tokenizer.mask_id is not None, "a model that fills in masks has a mask token"
    row = torch.tensor([tokenizer.encode(text.text, bos=True, eos=True)], device=next(model.parameters()).device)
    places = list(range(_MASKED_EVERY // 2, row.shape[1] - 1, _MASKED_EVERY))
    seen = row.clone()
    seen[0, places] = tokenizer.mask_id
    return _Case(inputs=(seen,), targets=row[0], determined=places, sources=[])


def _mean_loss(model: Transformer, cases: Sequence[_Case]) -> float:
    """Return the loss in nats per determined token, over all cases."""
    total, n_tokens = 0.0, 0
    for case in cases:
        logits = model(*case.inputs)[0, case.determined].float()
        total += float(F.cross_entropy(logits, case.targets[case.determined], reduction="sum"))
        n_tokens += len(case.determined)
    return total / n_tokens


def _shares(model: Transformer, case: _Case) -> dict[tuple[str, int], tuple[Tensor | None, ...]]:
    """Return, by attention and layer, what each head's habits are."""
    with capture(model, "*.hook_pattern") as acts:
        model(*case.inputs)
    return {
        (name, layer): _habits(attention, acts[attention.site(layer)][0].float(), case)
        for name, attention in attentions_of(model.config).items()
        for layer in range(attention.n_layers(model.config))
    }


def _habits(attention: Attention, pattern: Tensor, case: _Case) -> tuple[Tensor | None, ...]:
    """Return the four shares [head] of one layer's patterns [head, query, key]; None where one cannot be known."""
    aligned = previous = first = near = None
    speaks_of_keys = attention.name == ("cross" if len(case.inputs) == 2 else "decoder")
    if speaks_of_keys and case.sources:
        on_keys = [pattern[:, q, list(keys)].sum(-1) for q, keys in zip(case.determined, case.sources, strict=True)]
        aligned = torch.stack(on_keys, dim=-1).mean(dim=-1)
    if attention.queries_from == attention.keys_from and pattern.shape[1] > 2:
        previous = pattern.diagonal(offset=-1, dim1=1, dim2=2)[:, 1:].mean(dim=-1)  # of queries that have a choice
        first = pattern[:, 2:, 0].mean(dim=-1)
        if pattern.shape[1] > _NEAR + 1:
            near = pattern.triu(-_NEAR).tril(_NEAR)[:, _NEAR + 1 :].sum(dim=-1).mean(dim=-1)
    return aligned, previous, first, near


def _mean(shares: Sequence[Tensor | None], head: int) -> float | None:
    """Return the mean over cases of one head's share; None where none is known."""
    known = [float(share[head]) for share in shares if share is not None]
    return sum(known) / len(known) if known else None
