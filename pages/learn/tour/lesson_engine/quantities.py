"""The quantities of a model's run that lessons can name: pattern[cross, 1, 3], embed[encoder], d_head.

Those that change the model, decode, or patch pronouns are in `outputs` and `pronoun_experiment`.
"""

from collections.abc import Mapping

import numpy as np
import torch

from pages.learn.tour.lesson_engine.lesson import ExpressionError
from pages.learn.tour.lesson_engine.quantity import Part, attention_site, name_of, quantity
from pages.learn.tour.lesson_engine.run import LessonRun
from pages.learn.tour.lesson_engine.value import Axis, Result, Values, number
from transformer_core.decoding.inputs import tensor_of
from transformer_core.errors import mark
from transformer_core.model.positions import sinusoidal_table


def _of_head(name: str, stem: str, rows: str, columns: str, meaning: str) -> None:
    """Register an attention's site: of a layer [head, row, column], of a head [row, column]."""

    @quantity(name, meaning)
    def get(run: LessonRun, attention: Part, layer: Part, head: Part | None = None) -> Result:
        array = run.sites[attention_site(run, attention, layer, stem)]
        sides = dict(zip(("query", "key"), run.sides[str(attention)], strict=True))
        columns_axis = (
            run.axis(columns, sides[columns]) if columns in sides else Axis(name=columns, size=array.shape[-1])
        )
        axes = (Axis(name="head", size=len(array)), run.axis(rows, sides[rows]), columns_axis)
        values = Values(array=array, axes=axes)
        return values if head is None else values.at("head", head)


def _of_stack(name: str, stem: str, meaning: str) -> None:
    """Register a site of a stack [pos, d_model]."""

    @quantity(name, meaning)
    def get(run: LessonRun, stack: Part) -> Result:
        side = _side(run, stack)
        return _on_stream(run, _captured(run, f"{stack}.{stem}"), side)


def _of_layer(name: str, stem: str, meaning: str) -> None:
    """Register a site of the layers of a stack [pos, d_model], or [pos, d_ff]."""

    @quantity(name, meaning)
    def get(run: LessonRun, stack: Part, layer: Part) -> Result:
        side = _side(run, stack)
        width = "d_ff" if stem.startswith("mlp.") else "d_model"
        return _on_stream(run, _captured(run, f"{stack}.blocks.{name_of(layer)}.{stem}"), side, width)


def _of_config(name: str, meaning: str) -> None:
    """Register a number of the configuration."""

    @quantity(name, meaning)
    def get(run: LessonRun) -> Result:
        return number(getattr(run.model.config, name))


_of_head("pattern", "hook_pattern", "query", "key", mark("attention weights [query, key]"))
_of_head(
    "scores", "hook_attn_scores", "query", "key", mark("scaled scores before the softmax [query, key], −∞ where masked")
)


@quantity("mask", mark("attention mask [query, key]: 1 = may attend, 0 = masked"))
def _mask(run: LessonRun, attention: Part) -> Result:
    array = run.sites[attention_site(run, attention, 0.0, "hook_mask")]
    queries, keys = run.sides[str(attention)]
    return Values(array=array[0], axes=(run.axis("query", queries), run.axis("key", keys)))


_of_head("q", "hook_q", "query", "d_head", mark("queries [query, d_head]"))
_of_head("k", "hook_k", "key", "d_head", mark("keys [key, d_head]"))
_of_head("v", "hook_v", "key", "d_head", mark("values [key, d_head]"))
_of_head("z", "hook_z", "query", "d_head", mark("weighted sums of values [query, d_head]"))
_of_head(
    "result", "hook_result", "query", "d_model", mark("output of a head, added to the residual stream [query, d_model]")
)


@quantity("attn_out", mark("attention output, added to the residual stream [pos, d_model]"))
def _attn_out(run: LessonRun, attention: Part, layer: Part) -> Result:
    site = attention_site(run, attention, layer, "hook_attn_out")
    return _on_stream(run, run.sites[site], run.sides[str(attention)][0])


@quantity("embedding", mark("token embeddings before scaling [pos, d_model]"))
def _embedding(run: LessonRun, stack: Part) -> Result:
    side = _side(run, stack)
    table = run.model.get_parameter(f"{stack}.embed.weight").detach().numpy()
    place = 0 if side == "source" or len(run.model_run.inputs) == 1 else 1
    return _on_stream(run, table[list(run.model_run.inputs[place])], side)


_of_stack("embed", "hook_embed", mark("token embeddings, scaled [pos, d_model]"))
_of_stack("pos_embed", "hook_pos_embed", mark("positional encoding [pos, d_model]"))


@quantity("positions", mark("the paper's sinusoidal positional encoding [pos, d_model]"))
def _positions(run: LessonRun, n: Part, width: Part) -> Result:
    if isinstance(n, str) or isinstance(width, str) or not (1 <= n <= 512 and 2 <= width <= 1024) or width % 2:
        raise ExpressionError("positions takes 1 to 512 positions and an even width up to 1024: positions[10, 6]")
    table = sinusoidal_table(int(n), int(width)).numpy()
    return Values(array=table, axes=(Axis(name="pos", size=int(n)), Axis(name="d_model", size=int(width))))


_of_layer("resid_pre", "hook_resid_pre", mark("residual stream before a layer [pos, d_model]"))
_of_layer("resid_mid", "hook_resid_mid", mark("residual stream after the self-attention [pos, d_model]"))
_of_layer("resid_mid_cross", "hook_resid_mid_cross", mark("residual stream after the cross-attention [pos, d_model]"))
_of_layer("resid_post", "hook_resid_post", mark("residual stream after a layer [pos, d_model]"))
_of_layer("mlp_out", "hook_mlp_out", mark("feed-forward output, added to the residual stream [pos, d_model]"))
_of_layer("mlp_pre", "mlp.hook_pre", mark("hidden units of the feed-forward network before the activation [pos, d_ff]"))
_of_layer(
    "mlp_post", "mlp.hook_post", mark("hidden units of the feed-forward network after the activation [pos, d_ff]")
)


@quantity("normalized", mark("output of a normalization (ln1, ln_cross, ln2) [pos, d_model]"))
def _normalized(run: LessonRun, stack: Part, layer: Part, norm: Part) -> Result:
    side = _side(run, stack)
    return _on_stream(run, _captured(run, f"{stack}.blocks.{name_of(layer)}.{norm}.hook_normalized"), side)


@quantity("standardized", mark("output of a normalization before scale and shift [pos, d_model]"))
def _standardized(run: LessonRun, stack: Part, layer: Part, norm: Part) -> Result:
    side, name = _side(run, stack), f"{stack}.blocks.{name_of(layer)}.{norm}"
    array = _captured(run, f"{name}.hook_normalized")
    weights = {key: weight.detach().numpy() for key, weight in run.model.get_submodule(name).named_parameters()}
    return _on_stream(run, (array - weights.get("bias", 0)) / weights["weight"], side)


@quantity("logits", mark("logits of all tokens [pos, vocab]"))
def _logits(run: LessonRun) -> Result:
    return _of_vocabulary(run, run.logits)


@quantity("probs", mark("probabilities of all tokens [pos, vocab]"))
def _probs(run: LessonRun) -> Result:
    return probabilities(run, run.logits)


@quantity("probs_after", mark("probabilities of all tokens when the decoder has only read its first n tokens [vocab]"))
@torch.inference_mode()
def _probs_after(run: LessonRun, n: Part) -> Result:
    if run.model.decoder is None:
        raise ExpressionError("a masked model does not generate text")
    *source, target = run.model_run.inputs
    if n not in range(1, len(target) + 1):
        raise ExpressionError("the decoder reads 1 to {n} tokens here", n=len(target))
    logits = run.model(*(tensor_of(ids, run.model) for ids in (*source, target[: int(n)])))[0, -1]
    array = logits.double().softmax(dim=-1).numpy()
    return Values(array=array, axes=(_vocabulary(run, len(array)),))


@quantity("output", mark("output of the model"))
def _output(run: LessonRun) -> Result:
    return run.model_run.output


@quantity("card", mark("a number from the model's card, such as card[metrics, exact_match]"))
def _card(run: LessonRun, group: Part, name: Part) -> Result:
    facts = run.card.get(str(group))
    result = facts.get(str(name)) if isinstance(facts, Mapping) else None
    if not isinstance(result, int | float):
        raise ExpressionError("the card of this model has no number “{name}” in “{group}”", name=name, group=group)
    return number(result)


@quantity("n_tokens", mark("number of tokens of the source or the target"))
def _n_tokens(run: LessonRun, side: Part) -> Result:
    if side not in ("source", "target"):
        raise ExpressionError("n_tokens must be source or target")
    return number(len(getattr(run.model_run, str(side))))


_of_config("d_head", mark("width of a head"))
_of_config("d_model", mark("width of the residual stream"))
_of_config("d_ff", mark("width of the feed-forward network"))
_of_config("n_heads", mark("heads per layer"))
_of_config("n_encoder_layers", mark("number of encoder layers"))
_of_config("n_decoder_layers", mark("number of decoder layers"))
_of_config("vocab_size", mark("vocabulary size"))


def probabilities(run: LessonRun, logits: np.ndarray) -> Values:
    """Return the softmax of a run's logits, or of those of a changed model [pos, vocab]."""
    array = logits.astype(np.float64)
    array = np.exp(array - array.max(axis=-1, keepdims=True))
    return _of_vocabulary(run, array / array.sum(axis=-1, keepdims=True))


def _of_vocabulary(run: LessonRun, array: np.ndarray) -> Values:
    side = "target" if run.model.decoder is not None else "source"
    axes = (run.axis("pos", side), _vocabulary(run, array.shape[-1]))
    return Values(array=array.astype(np.float64), axes=axes)


def _vocabulary(run: LessonRun, n: int) -> Axis:
    return Axis(name="vocab", size=n, labels=tuple(run.tokenizer.target.tokens(range(n))))


def _on_stream(run: LessonRun, array: np.ndarray, side: str, width: str = "d_model") -> Values:
    return Values(array=array, axes=(run.axis("pos", side), Axis(name=width, size=array.shape[-1])))


def _side(run: LessonRun, stack: str | float) -> str:
    """Return which text a stack reads.

    Raises:
        ExpressionError: the model has no such stack.
    """
    stacks = {"encoder": run.model.encoder, "decoder": run.model.decoder}
    if stacks.get(str(stack)) is None:
        there = ", ".join(name for name, result in stacks.items() if result is not None)
        raise ExpressionError("this model has no stack “{name}”, only {there}", name=stack, there=there)
    return "source" if stack == "encoder" else "target"


def _captured(run: LessonRun, site: str) -> np.ndarray:
    if site not in run.sites:
        raise ExpressionError("this model has no site “{site}”", site=site)
    return run.sites[site]
