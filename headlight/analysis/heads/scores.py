"""Scores of a head: where it attends, and how much the loss rises without it.

Attention is compared with a corpus's true alignment and with simple patterns; the effect is that of zero ablation. A
head may attend to the correct position without affecting the loss, or affect it without attending there.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch.nn import functional as F

from headlight.analysis.heads.habits import (
    aligned_cells,
    antecedent_cells,
    first_cells,
    mean_share,
    near_cells,
    previous_cells,
)
from headlight.analysis.heads.measures import HeadScore
from headlight.analysis.trace.attentions import Attention, attentions_of
from headlight.analysis.trace.cases import KnownText, case_of
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import zero_heads
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer

HABITS = ("aligned", "previous", "first", "near", "antecedent")  # the shares of a `HeadScore`

Shares = dict[str, np.ndarray | None]
"""By habit, the mean share of attention of each head of a layer [head]; None: nothing to measure."""


@torch.inference_mode()
def score_heads(model: Transformer, tokenizer: Tokenizer, items: Sequence[Pair] | Sequence[Text]) -> list[HeadScore]:
    """Measure every head.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own; one token per unit if alignments are to be measured.
        items: texts to measure on, held out; a few dozen give two significant digits.

    Returns:
        The heads in the order of the forward pass. Those of the encoder have no alignment: None.
    """
    cases = [case_of(model.config, tokenizer, item) for item in items]
    whole = _mean_loss(model, cases)
    shares = [_shares(model, case) for case in cases]
    scores = []
    for name, attention in attentions_of(model.config).items():
        for layer in range(attention.n_layers(model.config)):
            for head in range(model.config.n_heads):
                with intervene(model, {attention.site(layer, "hook_z"): zero_heads([head])}):
                    effect = _mean_loss(model, cases) - whole
                means = {habit: _mean([share[name, layer].get(habit) for share in shares], head) for habit in HABITS}
                scores.append(HeadScore(attention=name, layer=layer, head=head, effect=effect, **means))
    return scores


def known_heads(scores: Sequence[HeadScore], *, n_most: int = 6) -> list[HeadScore]:
    """Return the heads that a card names: those with a habit, and two of those that are needed without one.

    The most needed come first.
    """
    telling = (score for score in scores if np.isfinite(score.effect) and score.is_telling)
    needed = sorted(telling, key=lambda score: -score.effect)
    without_habit = [score for score in needed if score.habit is None][:2]
    return [score for score in needed if score.habit is not None or score in without_habit][:n_most]


def _mean_loss(model: Transformer, cases: Sequence[KnownText]) -> float:
    """Return the loss in nats per determined token, over all cases; 0 where no token is determined."""
    device = next(model.parameters()).device
    total, n_tokens = 0.0, 0
    for case in cases:
        logits = model(*case.tensors(device))[0, list(case.determined)].float()
        targets = torch.tensor([case.targets[place] for place in case.determined], device=device)
        total += float(F.cross_entropy(logits, targets, reduction="sum"))
        n_tokens += len(case.determined)
    return total / max(1, n_tokens)


def _shares(model: Transformer, case: KnownText) -> dict[tuple[str, int], Shares]:
    with capture(model, "*.hook_pattern") as acts:
        model(*case.tensors(next(model.parameters()).device))
    return {
        (name, layer): _habits(attention, acts[attention.site(layer)][0].float().cpu().numpy(), case)
        for name, attention in attentions_of(model.config).items()
        for layer in range(attention.n_layers(model.config))
    }


def _habits(attention: Attention, pattern: Float[np.ndarray, "head query key"], case: KnownText) -> Shares:
    """Return the shares of one layer's patterns, without those that are not known."""
    shares: Shares = {}
    n_queries, n_keys = pattern.shape[1:]
    if attention.name == case.aligned_attention:
        shares["aligned"] = mean_share(pattern, aligned_cells(case, n_queries, n_keys))
    if attention.is_self:
        of_position = {"previous": previous_cells, "first": first_cells, "near": near_cells}
        shares |= {habit: mean_share(pattern, cells(n_queries)) for habit, cells in of_position.items()}
    if attention.name == "encoder":
        shares["antecedent"] = mean_share(pattern, antecedent_cells(case, n_keys))
    return shares


def _mean(shares: Sequence[np.ndarray | None], head: int) -> float | None:
    """Return the mean over cases of one head's share; None where none is known."""
    known = [float(share[head]) for share in shares if share is not None]
    return sum(known) / len(known) if known else None
