"""Getters of the quantities of a run: each takes its arguments, the run, and the parts in the quantity's brackets."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.errors import ExpressionError
from pages.learn.tour.lesson_engine.expressions import Parts
from pages.learn.tour.lesson_engine.run import Run
from pages.learn.tour.lesson_engine.value import Axis, Result, Values, number
from transformer_core.decoding.inputs import tensor_of
from transformer_core.model.positions import sinusoidal_table

Get = Callable[[Run, Parts], Result]


def of_head(stem: str, rows: str, columns: str, run: Run, parts: Parts) -> Result:
    """Return an attention's site: of a layer [head, row, column], of a head [row, column]."""
    attention, layer, *head = parts
    array = run.sites[attention_site(run, attention, layer, stem)]
    sides = dict(zip(("query", "key"), run.sides[str(attention)], strict=True))
    rows_axis = run.axis(rows, sides[rows])
    columns_axis = run.axis(columns, sides[columns]) if columns in sides else Axis(name=columns, size=array.shape[-1])
    values = Values(array=array, axes=(Axis(name="head", size=len(array)), rows_axis, columns_axis))
    return values.at("head", head[0]) if head else values


def of_attention(stem: str, run: Run, parts: Parts) -> Result:
    """Return the output of an attention in the residual stream [pos, d_model]."""
    attention, layer = parts
    return _on_stream(run, run.sites[attention_site(run, attention, layer, stem)], run.sides[str(attention)][0])


def of_stack(stem: str, run: Run, parts: Parts) -> Result:
    """Return a site of a stack, or of one of its layers [pos, d_model], or [pos, d_ff]."""
    stack, *layer = parts
    side = _side(run, stack)
    block = f"blocks.{name_of(layer[0])}." if layer else ""
    width = "d_ff" if stem.startswith("mlp.") else "d_model"
    return _on_stream(run, _captured(run, f"{stack}.{block}{stem}"), side, width)


def mask(run: Run, parts: Parts) -> Result:
    """Return the mask of an attention, True = may attend, [query, key]; the same for all heads."""
    (attention,) = parts
    array = run.sites[attention_site(run, attention, 0.0, "hook_mask")]
    queries, keys = run.sides[str(attention)]
    return Values(array=array[0], axes=(run.axis("query", queries), run.axis("key", keys)))


def normalized(is_plain: bool, run: Run, parts: Parts) -> Result:
    """Return a normalization's output, or what it was before its weights and biases."""
    stack, layer, norm = parts
    side = _side(run, stack)
    name = f"{stack}.blocks.{name_of(layer)}.{norm}"
    array = _captured(run, f"{name}.hook_normalized")
    if is_plain:
        weights = {key: weight.detach().numpy() for key, weight in run.model.get_submodule(name).named_parameters()}
        array = (array - weights.get("bias", 0)) / weights["weight"]
    return _on_stream(run, array, side)


def logits(run: Run, parts: Parts) -> Result:
    """Return the logits of all tokens at each position [pos, vocab]."""
    return _of_vocabulary(run, run.logits)


def probs(run: Run, parts: Parts) -> Result:
    """Return the probabilities of all tokens at each position [pos, vocab]."""
    return probabilities(run, run.logits)


def probabilities(run: Run, logits: np.ndarray) -> Values:
    """Return the softmax of logits of a run, its own or those of a changed model [pos, vocab]."""
    array = logits.astype(np.float64)
    array = np.exp(array - array.max(axis=-1, keepdims=True))
    return _of_vocabulary(run, array / array.sum(axis=-1, keepdims=True))


@torch.inference_mode()
def probs_after(run: Run, parts: Parts) -> Result:
    """Return the probabilities of all tokens where the decoder has read its first n tokens and nothing else [vocab].

    Raises:
        ExpressionError: it does not read this many, or the model has no decoder.
    """
    (n,) = parts
    if run.model.decoder is None:
        raise ExpressionError("a masked model does not generate text")
    *source, target = run.model_run.inputs
    if n not in range(1, len(target) + 1):
        raise ExpressionError("the decoder reads 1 to {n} tokens here", n=len(target))
    logits = run.model(*(tensor_of(ids, run.model) for ids in (*source, target[: int(n)])))[0, -1]
    array = logits.double().softmax(dim=-1).numpy()
    return Values(array=array, axes=(_vocabulary(run, len(array)),))


def _of_vocabulary(run: Run, array: np.ndarray) -> Values:
    side = "target" if run.model.decoder is not None else "source"
    axes = (run.axis("pos", side), _vocabulary(run, array.shape[-1]))
    return Values(array=array.astype(np.float64), axes=axes)


def _vocabulary(run: Run, n: int) -> Axis:
    return Axis(name="vocab", size=n, labels=tuple(run.tokenizer.target.tokens(range(n))))


def of_card(run: Run, parts: Parts) -> Result:
    """Return a number of the model's card, measured when the model was made: the group that it stands in, its name.

    Raises:
        ExpressionError: there is no such number.
    """
    group, name = map(str, parts)
    facts = run.card.get(group)
    result = facts.get(name) if isinstance(facts, Mapping) else None
    if not isinstance(result, int | float):
        raise ExpressionError("the card of this model has no number “{name}” in “{group}”", name=name, group=group)
    return number(result)


def embedding(run: Run, parts: Parts) -> Result:
    """Return the embeddings of the tokens of the text before they are scaled [pos, d_model]."""
    (stack,) = parts
    side = _side(run, stack)
    table = run.model.get_parameter(f"{stack}.embed.weight").detach().numpy()
    place = 0 if side == "source" or len(run.model_run.inputs) == 1 else 1
    return _on_stream(run, table[list(run.model_run.inputs[place])], side)


def positions(run: Run, parts: Parts) -> Result:
    """Return the sinusoidal table, sines and cosines in turn [pos, d_model]."""
    rows, width = parts
    if (
        isinstance(rows, str)
        or isinstance(width, str)
        or not (1 <= rows <= 512 and 2 <= width <= 1024 and width % 2 == 0)
    ):
        raise ExpressionError("positions takes 1 to 512 positions and an even width up to 1024: positions[10, 6]")
    table = sinusoidal_table(int(rows), int(width)).numpy()
    return Values(array=table, axes=(Axis(name="pos", size=int(rows)), Axis(name="d_model", size=int(width))))


def n_tokens(run: Run, parts: Parts) -> Result:
    """Return how many tokens a text has."""
    (side,) = parts
    if side not in ("source", "target"):
        raise ExpressionError("n_tokens must be source or target")
    return number(len(getattr(run.model_run, str(side))))


def number_of(field: str, run: Run, parts: Parts) -> Result:
    """Return a number of the configuration."""
    return number(getattr(run.model.config, field))


def _on_stream(run: Run, array: np.ndarray, side: str, width: str = "d_model") -> Values:
    return Values(array=array, axes=(run.axis("pos", side), Axis(name=width, size=array.shape[-1])))


def attention_site(run: Run, attention: str | float, layer: str | float, stem: str) -> str:
    """Return the name of an attention's site.

    Raises:
        ExpressionError: the model has no such attention or layer.
    """
    if attention not in run.sides:
        there = ", ".join(run.sides)
        raise ExpressionError("this model has no attention “{name}”, only {there}", name=f"{attention}", there=there)
    n_layers = ATTENTIONS[str(attention)].n_layers(run.model.config)
    if isinstance(layer, str) or layer not in range(n_layers):
        raise ExpressionError(
            "this model has no layer “{layer}”, only 0 to {last}", layer=name_of(layer), last=n_layers - 1
        )
    return ATTENTIONS[str(attention)].site(int(layer), stem)


def name_of(part: str | float) -> str:
    """Return a part of a quantity as it is written."""
    return part if isinstance(part, str) else f"{part:g}"


def _side(run: Run, stack: str | float) -> str:
    """Return which text a stack reads.

    Raises:
        ExpressionError: the model has no such stack.
    """
    stacks = {"encoder": run.model.encoder, "decoder": run.model.decoder}
    if stacks.get(str(stack)) is None:
        there = ", ".join(name for name, result in stacks.items() if result is not None)
        raise ExpressionError("this model has no stack “{name}”, only {there}", name=stack, there=there)
    return "source" if stack == "encoder" else "target"


def _captured(run: Run, site: str) -> np.ndarray:
    if site not in run.sites:
        raise ExpressionError("this model has no site “{site}”", site=site)
    return run.sites[site]
