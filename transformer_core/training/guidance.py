"""Guided attention: one head of the encoder learns from annotated pairs which noun each pronoun refers to.

Translation alone does not require such a head: a model can also find the gender of "it" in its decoder.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import Batches
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.objective import TrainingLoss


def guidance_loss(
    pattern: Float[Tensor, "batch query key"], antecedents: Bool[Tensor, "batch query key"]
) -> Float[Tensor, ""]:
    """Return the mean, over the pronouns, of the cross-entropy H(antecedents, pattern).

    loss = -1/n sum over pronouns q of sum over keys k of G[q, k] log A[q, k], where A is the pattern of the guided head
    and G[q] is uniform over the tokens of the antecedents of q.

    Args:
        pattern: of one head; each row sums to 1.
        antecedents: True if the query is a pronoun and the key a token of an antecedent.

    Returns:
        The loss in nats per pronoun; 0 without pronouns.

    Source: Garg et al. 2019, "Jointly Learning to Align and Translate with Transformer Models", sec. 4.2.
    Differs: they guide a head of cross-attention towards word alignments; here it is a head of self-attention, as in
    Strubell et al. 2018 ("Linguistically-Informed Self-Attention"), who guide one towards syntactic heads.
    """
    is_pronoun = antecedents.any(dim=-1)  # [batch, query]
    if not is_pronoun.any():
        return pattern.new_zeros(())
    rows, antecedent = pattern[is_pronoun], antecedents[is_pronoun].to(pattern.dtype)  # [pronoun, key]
    log_weights = rows.clamp_min(torch.finfo(rows.dtype).tiny).log()  # a weight may be rounded to 0
    return -(antecedent / antecedent.sum(dim=-1, keepdim=True) * log_weights).sum(dim=-1).mean()


class GuidedTrainingLoss(nn.Module):
    """A model with the losses of its targets and of the guided head of its encoder."""

    def __init__(self, model: Transformer, *, smoothing: float, layer: int, head: int) -> None:
        super().__init__()
        self.of_targets = TrainingLoss(model, smoothing=smoothing)
        self.site, self.head = _site(layer), head

    def forward(
        self,
        inputs: tuple[Int[Tensor, "batch _"], ...],
        targets: Int[Tensor, "batch pos"],
        antecedents: Bool[Tensor, "batch query key"],
    ) -> Float[Tensor, "2"]:
        """Return the mean loss in nats per target that counts, and the guidance loss in nats per pronoun."""
        with capture(self.of_targets.model, self.site, detach=False) as acts:
            loss = self.of_targets(inputs, targets)
        return torch.stack([loss, guidance_loss(acts[self.site][:, self.head].float(), antecedents)])


def check_guidance(training: TrainingConfig, model: ModelConfig, corpus: Corpus) -> None:
    """Raise ConfigError if the head to guide, if any, does not exist, or if no pair has antecedents."""
    if training.guided is None:
        return
    if not has_antecedents(corpus.train) or model.architecture != "encoder_decoder":
        raise ConfigError(
            "guided_head needs a corpus with annotated antecedents, such as en-fr; {corpus} has "
            "none. Leave out guided_head, or choose en-fr",
            corpus=corpus.name,
        )
    layer, head = training.guided
    if layer >= model.n_encoder_layers or head >= model.n_heads:
        raise ConfigError(
            "guided_head ({guided_head}) does not exist: the encoder has layers 0 to {last_layer}, "
            "each with heads 0 to {last_head}",
            guided_head=training.guided_head,
            last_layer=model.n_encoder_layers - 1,
            last_head=model.n_heads - 1,
        )


def has_antecedents(items: Sequence[Pair] | Sequence[Text]) -> bool:
    """Return whether these are pairs with annotated antecedents; in a corpus, all pairs are annotated or none."""
    first = items[0] if len(items) else None
    return isinstance(first, Pair) and first.antecedents is not None


@torch.inference_mode()
def antecedent_shares(model: Transformer, batches: Batches) -> Float[Tensor, "layer head"] | None:
    """Return how often each encoder head gives the largest attention weight of a pronoun to its antecedent.

    Args:
        model: in evaluation mode.
        batches: read for one epoch.

    Returns:
        Fractions of all pronouns, in [0, 1]; None without pronouns or annotations.
    """
    sites = [_site(layer) for layer in range(model.config.n_encoder_layers)]
    n_right, n_pronouns = torch.zeros(len(sites), model.config.n_heads, dtype=torch.int64), 0
    device = next(model.parameters()).device
    for _ in range(batches.batches_per_epoch):
        batch = next(batches).to(device)
        if batch.antecedents is None:
            return None
        with capture(model, *sites) as acts:
            model.encode(batch.inputs[0])
        row, query = batch.antecedents.any(dim=-1).nonzero(as_tuple=True)  # position of each pronoun
        for layer, site in enumerate(sites):
            keys = acts[site][row, :, query].argmax(dim=-1)  # [pronoun, head]
            n_right[layer] += batch.antecedents[row[:, None], query[:, None], keys].sum(dim=0).cpu()
        n_pronouns += len(row)
    return n_right.double() / n_pronouns if n_pronouns else None


def _site(layer: int) -> str:
    return f"encoder.blocks.{layer}.self_attn.hook_pattern"
