"""The quantities of a model's run that lessons can name: pattern[cross, 1, 3], embed[encoder], d_head."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from pages.learn.tour.lesson_engine import changed, getters, pronoun_experiment, searching
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import Parts
from pages.learn.tour.lesson_engine.getters import Get, number_of, of_head, of_stack
from pages.learn.tour.lesson_engine.run import Run
from pages.learn.tour.lesson_engine.value import Result
from transformer_core.errors import mark

MOST_PARTS = 18  # of a quantity that takes any number of heads


@dataclass(frozen=True)
class Quantity:
    """A quantity of a run."""

    parts: str  # in its brackets, optional ones in brackets again; "…": more may follow
    meaning: str  # marked, for authors of lessons
    get: Get
    is_patched: bool = False  # it needs the run on the lesson's other text, too

    def takes(self, n: int) -> bool:
        """Return whether a number of parts is allowed."""
        least, most = (len(re.findall(r"\w+", text)) for text in (self.parts.partition("[")[0], self.parts))
        return least <= n <= (MOST_PARTS if "…" in self.parts else most)


def quantity(run: Run, name: str, parts: Parts) -> Result:
    """Return a quantity of a run.

    Raises:
        ExpressionError: there is none of this name, or these are not its parts.
    """
    if name not in QUANTITIES:
        raise ExpressionError(
            "there is no quantity “{name}”; there are {there}", name=name, there=", ".join(sorted(QUANTITIES))
        )
    result = QUANTITIES[name]
    if not result.takes(len(parts)):
        raise ExpressionError("write {wanted}", wanted=f"{name}[{result.parts}]" if result.parts else name)
    return result.get(run, parts)


_HEAD, _HEADS, _LAYER = "attention, layer, head", "attention, layer[, head]", "stack, layer"
QUANTITIES: Mapping[str, Quantity] = {
    "pattern": Quantity(
        _HEADS, mark("attention weights [query, key]"), partial(of_head, "hook_pattern", "query", "key")
    ),
    "scores": Quantity(
        _HEADS,
        mark("scaled scores before the softmax [query, key], −∞ where masked"),
        partial(of_head, "hook_attn_scores", "query", "key"),
    ),
    "mask": Quantity("attention", mark("attention mask [query, key]: 1 = may attend, 0 = masked"), getters.mask),
    "q": Quantity(_HEADS, mark("queries [query, d_head]"), partial(of_head, "hook_q", "query", "d_head")),
    "k": Quantity(_HEADS, mark("keys [key, d_head]"), partial(of_head, "hook_k", "key", "d_head")),
    "v": Quantity(_HEADS, mark("values [key, d_head]"), partial(of_head, "hook_v", "key", "d_head")),
    "z": Quantity(
        _HEADS, mark("weighted sums of values [query, d_head]"), partial(of_head, "hook_z", "query", "d_head")
    ),
    "result": Quantity(
        _HEADS,
        mark("output of a head, added to the residual stream [query, d_model]"),
        partial(of_head, "hook_result", "query", "d_model"),
    ),
    "attn_out": Quantity(
        "attention, layer",
        mark("attention output, added to the residual stream [pos, d_model]"),
        partial(getters.of_attention, "hook_attn_out"),
    ),
    "embedding": Quantity("stack", mark("token embeddings before scaling [pos, d_model]"), getters.embedding),
    "embed": Quantity("stack", mark("token embeddings, scaled [pos, d_model]"), partial(of_stack, "hook_embed")),
    "pos_embed": Quantity("stack", mark("positional encoding [pos, d_model]"), partial(of_stack, "hook_pos_embed")),
    "positions": Quantity(
        "n, width", mark("the paper's sinusoidal positional encoding [pos, d_model]"), getters.positions
    ),
    "resid_pre": Quantity(
        _LAYER, mark("residual stream before a layer [pos, d_model]"), partial(of_stack, "hook_resid_pre")
    ),
    "resid_mid": Quantity(
        _LAYER, mark("residual stream after the self-attention [pos, d_model]"), partial(of_stack, "hook_resid_mid")
    ),
    "resid_mid_cross": Quantity(
        _LAYER,
        mark("residual stream after the cross-attention [pos, d_model]"),
        partial(of_stack, "hook_resid_mid_cross"),
    ),
    "resid_post": Quantity(
        _LAYER, mark("residual stream after a layer [pos, d_model]"), partial(of_stack, "hook_resid_post")
    ),
    "mlp_out": Quantity(
        _LAYER,
        mark("feed-forward output, added to the residual stream [pos, d_model]"),
        partial(of_stack, "hook_mlp_out"),
    ),
    "mlp_pre": Quantity(
        _LAYER,
        mark("hidden units of the feed-forward network before the activation [pos, d_ff]"),
        partial(of_stack, "mlp.hook_pre"),
    ),
    "mlp_post": Quantity(
        _LAYER,
        mark("hidden units of the feed-forward network after the activation [pos, d_ff]"),
        partial(of_stack, "mlp.hook_post"),
    ),
    "normalized": Quantity(
        "stack, layer, norm",
        mark("output of a normalization (ln1, ln_cross, ln2) [pos, d_model]"),
        partial(getters.normalized, False),
    ),
    "standardized": Quantity(
        "stack, layer, norm",
        mark("output of a normalization before scale and shift [pos, d_model]"),
        partial(getters.normalized, True),
    ),
    "logits": Quantity("", mark("logits of all tokens [pos, vocab]"), getters.logits),
    "probs": Quantity("", mark("probabilities of all tokens [pos, vocab]"), getters.probs),
    "probs_after": Quantity(
        "n",
        mark("probabilities of all tokens when the decoder has only read its first n tokens [vocab]"),
        getters.probs_after,
    ),
    "output": Quantity("", mark("output of the model"), lambda run, parts: run.model_run.output),
    "output_without": Quantity(
        _HEAD, mark("output with a head ablated"), partial(changed.output, changed.switched_off)
    ),
    "probs_without": Quantity(
        _HEAD,
        mark("probabilities of all tokens with a head ablated [pos, vocab]"),
        partial(changed.probs, changed.switched_off),
    ),
    "output_patched": Quantity(
        "attention, layer, head[, query]",
        mark("output with a head patched from the other text, at one query or at all"),
        partial(changed.output, changed.patched),
        is_patched=True,
    ),
    "probs_patched": Quantity(
        "attention, layer, head[, query]",
        mark(
            "probabilities of all tokens with a head patched from the other text, at one query or at all [pos, vocab]"
        ),
        partial(changed.probs, changed.patched),
        is_patched=True,
    ),
    "output_looking": Quantity(
        "attention, layer, head, query, key",
        mark("output when a query of a head attends to one key only"),
        partial(changed.output, changed.looking),
    ),
    "probs_looking": Quantity(
        "attention, layer, head, query, key",
        mark("probabilities of all tokens when a query of a head attends to one key only [pos, vocab]"),
        partial(changed.probs, changed.looking),
    ),
    "card": Quantity(
        "group, name", mark("a number from the model's card, such as card[metrics, exact_match]"), getters.of_card
    ),
    "text_loss": Quantity("", mark("loss on the correct model’s output, nats per token"), changed.text_loss),
    "loss_rise": Quantity(
        "attention, layer, head, …",
        mark("increase of the loss, in nats per token, with one or several heads ablated"),
        changed.loss_rise,
    ),
    "flips": Quantity(
        "attention[, layer, head]",
        mark("share of held-out il/elle pairs that flip when a head is patched [layer, head]"),
        pronoun_experiment.flips,
    ),
    "pronouns": Quantity(
        "name",
        mark("a number of the il/elle experiment, such as pronouns[pairs] or pronouns[random]"),
        pronoun_experiment.pronouns,
    ),
    "n_tokens": Quantity("side", mark("number of tokens of the source or the target"), getters.n_tokens),
    "greedy_text": Quantity("n", mark("n tokens generated by greedy decoding"), searching.text),
    "beam_text": Quantity("beams, n", mark("n tokens found by beam search"), searching.text),
    "greedy_log_prob": Quantity(
        "n",
        mark("log-probability of n tokens generated by greedy decoding, nats"),
        searching.log_prob,
    ),
    "beam_log_prob": Quantity(
        "beams, n",
        mark("log-probability of the text found by beam search, nats"),
        searching.log_prob,
    ),
    "d_head": Quantity("", mark("width of a head"), partial(number_of, "d_head")),
    "d_model": Quantity("", mark("width of the residual stream"), partial(number_of, "d_model")),
    "d_ff": Quantity("", mark("width of the feed-forward network"), partial(number_of, "d_ff")),
    "n_heads": Quantity("", mark("heads per layer"), partial(number_of, "n_heads")),
    "n_encoder_layers": Quantity("", mark("number of encoder layers"), partial(number_of, "n_encoder_layers")),
    "n_decoder_layers": Quantity("", mark("number of decoder layers"), partial(number_of, "n_decoder_layers")),
    "vocab_size": Quantity("", mark("vocabulary size"), partial(number_of, "vocab_size")),
}
"""All quantities of a model's run; those of the six words are `evidence.OF_SIX_WORDS`."""
