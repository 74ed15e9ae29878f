"""What a lesson can ask of a model's run, by name: pattern[cross, 1, 3], embed[encoder], d_head."""

from collections.abc import Mapping
from dataclasses import dataclass

from pages.learn.tour.lesson_engine import changed, pronoun_experiment
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.getters import (
    Get,
    Parts,
    embedding,
    logits,
    loss_rise,
    mask,
    n_tokens,
    normalized,
    number_of,
    of_attention,
    of_card,
    of_head,
    of_layer,
    of_stack,
    output,
    positions,
    probs_after,
    text_loss,
    written,
)
from pages.learn.tour.lesson_engine.run import Run
from pages.learn.tour.lesson_engine.value import Result
from transformer_core.errors import mark


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One thing that can be asked for."""

    parts: str  # what stands in its brackets
    meaning: str  # for who writes lessons; said
    get: Get
    n_left_out: int = 0  # parts at the end that may be left out: without a head, all heads are meant
    n_more: int = 0  # parts that may follow: further heads
    is_patched: bool = False  # it needs the run on the lesson's other text, too

    @property
    def n_parts(self) -> range:
        """How many parts there may be in its brackets."""
        most = len(self.parts.split(",")) if self.parts else 0
        return range(most - self.n_left_out, most + self.n_more + 1)


def quantity(run: Run, name: str, parts: Parts) -> Result:
    """Return a quantity of a run.

    Raises:
        ExpressionError: there is none of this name, or its brackets hold something else.
    """
    if name not in QUANTITIES:
        raise ExpressionError(
            "there is no quantity “{name}”; there are {there}", name=name, there=", ".join(sorted(QUANTITIES))
        )
    found = QUANTITIES[name]
    if len(parts) not in found.n_parts:
        raise ExpressionError("write {wanted}", wanted=f"{name}[{found.parts}]" if found.parts else name)
    return found.get(run, parts)


_HEAD = "attention, layer, head"
QUANTITIES: Mapping[str, Quantity] = {
    "pattern": Quantity(
        parts=_HEAD,
        n_left_out=1,
        meaning=mark("attention weights [query, key]"),
        get=of_head("hook_pattern", "query", "key"),
    ),
    "scores": Quantity(
        parts=_HEAD,
        n_left_out=1,
        meaning=mark("scaled scores before the softmax [query, key], −∞ where masked"),
        get=of_head("hook_attn_scores", "query", "key"),
    ),
    "mask": Quantity(
        parts="attention", meaning=mark("attention mask [query, key]: 1 = may attend, 0 = masked"), get=mask
    ),
    "q": Quantity(
        parts=_HEAD, n_left_out=1, meaning=mark("queries [query, d_head]"), get=of_head("hook_q", "query", "d_head")
    ),
    "k": Quantity(
        parts=_HEAD, n_left_out=1, meaning=mark("keys [key, d_head]"), get=of_head("hook_k", "key", "d_head")
    ),
    "v": Quantity(
        parts=_HEAD, n_left_out=1, meaning=mark("values [key, d_head]"), get=of_head("hook_v", "key", "d_head")
    ),
    "z": Quantity(
        parts=_HEAD,
        n_left_out=1,
        meaning=mark("weighted sums of values [query, d_head]"),
        get=of_head("hook_z", "query", "d_head"),
    ),
    "result": Quantity(
        parts=_HEAD,
        n_left_out=1,
        meaning=mark("output of a head, added to the residual stream [query, d_model]"),
        get=of_head("hook_result", "query", "d_model"),
    ),
    "attn_out": Quantity(
        parts="attention, layer",
        meaning=mark("attention output, added to the residual stream [pos, d_model]"),
        get=of_attention("hook_attn_out"),
    ),
    "embedding": Quantity(parts="stack", meaning=mark("token embeddings before scaling [pos, d_model]"), get=embedding),
    "embed": Quantity(
        parts="stack", meaning=mark("token embeddings, scaled [pos, d_model]"), get=of_stack("hook_embed")
    ),
    "pos_embed": Quantity(
        parts="stack", meaning=mark("positional encoding [pos, d_model]"), get=of_stack("hook_pos_embed")
    ),
    "positions": Quantity(
        parts="n, width", meaning=mark("the paper's sinusoidal positional encoding [pos, d_model]"), get=positions
    ),
    **{
        name: Quantity(parts="stack, layer", meaning=meaning, get=of_layer(f"hook_{name}"))
        for name, meaning in {
            "resid_pre": mark("residual stream before a layer [pos, d_model]"),
            "resid_mid": mark("residual stream after the self-attention [pos, d_model]"),
            "resid_mid_cross": mark("residual stream after the cross-attention [pos, d_model]"),
            "resid_post": mark("residual stream after a layer [pos, d_model]"),
            "mlp_out": mark("feed-forward output, added to the residual stream [pos, d_model]"),
        }.items()
    },
    "mlp_pre": Quantity(
        parts="stack, layer",
        meaning=mark("hidden units of the feed-forward network before the activation [pos, d_ff]"),
        get=of_layer("mlp.hook_pre", "d_ff"),
    ),
    "mlp_post": Quantity(
        parts="stack, layer",
        meaning=mark("hidden units of the feed-forward network after the activation [pos, d_ff]"),
        get=of_layer("mlp.hook_post", "d_ff"),
    ),
    "normalized": Quantity(
        parts="stack, layer, norm",
        meaning=mark("output of a normalization (ln1, ln_cross, ln2) [pos, d_model]"),
        get=normalized(is_plain=False),
    ),
    "standardized": Quantity(
        parts="stack, layer, norm",
        meaning=mark("output of a normalization before scale and shift [pos, d_model]"),
        get=normalized(is_plain=True),
    ),
    "logits": Quantity(parts="", meaning=mark("logits of all tokens [pos, vocab]"), get=logits(as_probabilities=False)),
    "probs": Quantity(
        parts="", meaning=mark("probabilities of all tokens [pos, vocab]"), get=logits(as_probabilities=True)
    ),
    "probs_after": Quantity(
        parts="n",
        meaning=mark("probabilities of all tokens when the decoder has only read its first n tokens [vocab]"),
        get=probs_after,
    ),
    "output": Quantity(parts="", meaning=mark("output of the model"), get=output),
    "output_without": Quantity(
        parts=_HEAD, meaning=mark("output with a head ablated"), get=changed.output(changed.switched_off)
    ),
    "probs_without": Quantity(
        parts=_HEAD,
        meaning=mark("probabilities of all tokens with a head ablated [pos, vocab]"),
        get=changed.probs(changed.switched_off),
    ),
    "output_patched": Quantity(
        parts=f"{_HEAD}, query",
        n_left_out=1,
        is_patched=True,
        meaning=mark("output with a head patched from the other text, at one query or at all"),
        get=changed.output(changed.patched),
    ),
    "probs_patched": Quantity(
        parts=f"{_HEAD}, query",
        n_left_out=1,
        is_patched=True,
        meaning=mark(
            "probabilities of all tokens with a head patched from the other text, at one query or at all [pos, vocab]"
        ),
        get=changed.probs(changed.patched),
    ),
    "output_looking": Quantity(
        parts=f"{_HEAD}, query, key",
        meaning=mark("output when a query of a head attends to one key only"),
        get=changed.output(changed.looking),
    ),
    "probs_looking": Quantity(
        parts=f"{_HEAD}, query, key",
        meaning=mark("probabilities of all tokens when a query of a head attends to one key only [pos, vocab]"),
        get=changed.probs(changed.looking),
    ),
    "card": Quantity(
        parts="group, name",
        meaning=mark("a number from the model's card, such as card[metrics, exact_match]"),
        get=of_card,
    ),
    "text_loss": Quantity(parts="", meaning=mark("loss on the correct model’s output, nats per token"), get=text_loss),
    "loss_rise": Quantity(
        parts=_HEAD,
        n_more=15,
        meaning=mark("increase of the loss, in nats per token, with one or several heads ablated"),
        get=loss_rise,
    ),
    "flips": Quantity(
        parts=_HEAD,
        n_left_out=2,
        meaning=mark("share of held-out il/elle pairs that flip when a head is patched [layer, head]"),
        get=pronoun_experiment.flips,
    ),
    "pronouns": Quantity(
        parts="name",
        meaning=mark("a number of the il/elle experiment, such as pronouns[pairs] or pronouns[random]"),
        get=pronoun_experiment.pronouns,
    ),
    "n_tokens": Quantity(parts="side", meaning=mark("number of tokens of the source or the target"), get=n_tokens),
    "greedy_text": Quantity(
        parts="n", meaning=mark("n tokens generated by greedy decoding"), get=written("greedy_text")
    ),
    "beam_text": Quantity(parts="beams, n", meaning=mark("n tokens found by beam search"), get=written("beam_text")),
    "greedy_log_prob": Quantity(
        parts="n",
        meaning=mark("log-probability of n tokens generated by greedy decoding, nats"),
        get=written("greedy_log_prob"),
    ),
    "beam_log_prob": Quantity(
        parts="beams, n",
        meaning=mark("log-probability of the text found by beam search, nats"),
        get=written("beam_log_prob"),
    ),
    "d_head": Quantity(parts="", meaning=mark("width of a head"), get=number_of("d_head")),
    **{
        name: Quantity(parts="", meaning=meaning, get=number_of(name))
        for name, meaning in {
            "d_model": mark("width of the residual stream"),
            "d_ff": mark("width of the feed-forward network"),
            "n_heads": mark("heads per layer"),
            "n_encoder_layers": mark("number of encoder layers"),
            "n_decoder_layers": mark("number of decoder layers"),
            "vocab_size": mark("vocabulary size"),
        }.items()
    },
}
"""All quantities of a model's run; those of the six words are `evidence.OF_SIX_WORDS`."""
