"""All heads in one product: why they are permuted, and torch's kernel beside the formula."""

import inspect
import math
from collections.abc import Callable
from textwrap import dedent

from headlight.language import localized, say
from pages.learn.steps.data import StepsData
from pages.shared import cache, prose
from pages.shared.recipe import call, value_of
from transformer_core.errors import mark

WHY = mark(
    "A matrix product acts on the last two axes of a tensor and repeats over all axes before them. The projection "
    "gives each token the vectors of all heads, [batch, pos, head, d_head]: in this order, the product would compare "
    "the heads of one token with each other. Permuted to [batch, head, pos, d_head], each head is a matrix with a row "
    "per token, so one batched product Q Kᵀ computes the scores of all heads at once."
)
SHAPES = {  # of the fields of `BatchedHeads`: what has the shape, and its axes
    "projected": (mark("queries as projected, X W_Q"), "batch, pos, head · d_head"),
    "split": (mark("split into heads"), "batch, pos, head, d_head"),
    "permuted": (mark("permuted"), "batch, head, pos, d_head"),
    "scores": (mark("scores of all heads, Q Kᵀ"), "batch, head, query, key"),
}
SAME = mark("Same inputs, all {n} heads of this layer: the two outputs differ by at most {error}.")
NOT_FINITE = mark("The outputs are NaN or infinite here, so there is nothing to compare.")
NO_CAP = mark("This model caps its scores, which torch’s kernel cannot do, so there is nothing to compare.")


def show(data: StepsData) -> None:
    """Draw the shapes of the heads' tensors, and the code of both computations with their difference."""
    from headlight.analysis.walkthrough import all_heads

    head = data.view.head_name
    computed = call(
        all_heads.all_heads,
        data.source.recipe()[0],
        data.recipe.inputs,
        attention=head.attention,
        layer=head.layer,
    )
    result = value_of(cache.kept(mark("step-by-step traces"), data.source.forward(computed)))
    heads = ("", say("axes"), say("shape"))
    rows = prose.each(
        "<tr><td>{}</td><td><code>[{}]</code></td><td><code>{}</code></td></tr>",
        [(say(words), axes, [*getattr(result, name)]) for name, (words, axes) in SHAPES.items()],
    )
    prose.subheading(say("All heads in one product"))
    prose.paragraph(say(WHY))
    prose.html("<div class='hl-steps-shapes' tabindex='0'>{}</div>", prose.table(heads, rows))
    prose.html(
        "<div class='hl-steps-code'><div><b>{}</b><pre>{}</pre></div><div><b>{}</b><pre>{}</pre></div></div>",
        say("The formula: softmax(Q Kᵀ / √d_k) V"),
        _body(all_heads.by_formula),
        "torch.nn.functional.scaled_dot_product_attention",
        _body(all_heads.by_kernel),
    )
    if result.difference is None:
        prose.small(say(NO_CAP))
    elif not math.isfinite(result.difference):
        prose.small(say(NOT_FINITE))
    else:
        prose.small(say(SAME, n=data.card.config.n_heads, error=localized(result.difference, ".1e")))


def _body(function: Callable[..., object]) -> str:
    """Return the lines of a function below its docstring."""
    return dedent(inspect.getsource(function).rpartition('"""')[2]).strip()
