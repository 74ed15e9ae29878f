"""Lines 1 to 9, one head from queries, keys and values to the weighted sum of the values; and the class of a step.

A solution and a mistake are lines of the learner's language, so that both run in the interpreter.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from transformer_core.errors import Message, mark

NO_BIAS = mark("The bias is missing: add {bias} to the product.")
OTHERS = mark("These are the {others}: use {weight} and {bias} in this line.")
NOT_MEMORY = mark("Queries come from x, the decoder’s tokens, not from memory.")
NOT_X = mark("In cross-attention, keys and values come from memory, the encoder’s output, not from x.")
UNROTATED = mark("The rotary embedding is missing: this model applies rotate(…) to queries and keys.")
ROTATED = mark("Values are not rotated: only queries and keys are.")
COLUMNS = mark("This works along the columns (dim=0). Each row belongs to one query: use dim=-1.")
KEEPDIM = mark(
    "Without keepdim=True the results of the rows form a single row, so each column uses the value of a different "
    "query."
)
UNSCALED = mark("The scaling is missing: all scores are too large by the factor √d_k.")
UNMASKED = mark("The mask is missing: queries attend to keys that they must not see.")
INVERTED = mark("The mask is inverted: this fills the cells that are allowed. Use ~mask.")
KEYS_FOR_VALUES = mark("This sums the keys: the pattern weights the values, v.")
NO_POSITIONS = mark("The position bias is missing: this model adds it to the scaled scores.")


@dataclass(frozen=True, kw_only=True)
class AttentionVariant:
    """What differs between the attentions of the models."""

    is_cross: bool = False  # keys and values come from the encoder's output, `memory`
    is_rotated: bool = False  # queries and keys have rotary embeddings: `rotate`
    has_bias: bool = False  # positions add to the scores: `bias` of the head, `biases` of all heads


@dataclass(frozen=True, kw_only=True)
class BuildStep:
    """One of the twelve lines."""

    name: str  # of the assigned variable
    title: str  # marked, as are `task` and `hint`
    task: str
    hint: str
    line: str  # the solution, without the name
    shapes: str  # the shapes in the solution; {q} stands for q, or for any expression, with its shape
    axes: tuple[str, ...]  # of the result
    mistakes: tuple[tuple[str, str | Message], ...]  # wrong lines and why; "": not applicable to this attention

    @property
    def solution(self) -> str:
        """The line with the name that it assigns."""
        return f"{self.name} = {self.line}"


def steps(variant: AttentionVariant) -> Iterator[BuildStep]:
    """Yield the steps 1 to 9: queries, keys and values; scores, scaling and mask; softmax and weighted sum."""
    yield from (*_projections(variant), *_scores(variant), *_softmax(variant))


def _projections(variant: AttentionVariant) -> Iterator[BuildStep]:
    others = {"Q": mark("queries"), "K": mark("keys"), "V": mark("values")}
    texts = {
        "Q": (
            mark("Queries"),
            mark("Project each token’s vector in x to its query: multiply by W_Q and add b_Q. Then apply rotate(…).")
            if variant.is_rotated
            else mark("Project each token’s vector in x to its query: multiply by W_Q and add b_Q."),
        ),
        "K": (
            mark("Keys"),
            mark("Keys come from memory, the encoder’s output: multiply it by W_K and add b_K.")
            if variant.is_cross
            else mark("Project x to keys in the same way, with W_K and b_K; rotate them, too.")
            if variant.is_rotated
            else mark("Project x to keys in the same way, with W_K and b_K."),
        ),
        "V": (
            mark("Values"),
            mark("Values come from memory, too: multiply it by W_V and add b_V.")
            if variant.is_cross
            else mark("Project x to values, with W_V and b_V. Values are not rotated.")
            if variant.is_rotated
            else mark("Project x to values, with W_V and b_V."),
        ),
    }
    for letter, (title, task) in texts.items():
        source = "memory" if variant.is_cross and letter != "Q" else "x"
        other_source = "x" if source == "memory" else "memory" if variant.is_cross else ""
        is_rotated = variant.is_rotated and letter != "V"
        other, rotation = NOT_MEMORY if letter == "Q" else NOT_X, UNROTATED if is_rotated else ROTATED
        name, weight, bias = letter.lower(), f"W_{letter}", f"b_{letter}"

        def line(letter: str = letter, source: str = source, *, is_rotated: bool = is_rotated, end: str = "") -> str:
            product = f"{source} @ W_{letter}{end or f' + b_{letter}'}"
            return f"rotate({product})" if is_rotated else product

        swapped = [one for one in others if one != letter]
        yield BuildStep(
            name=name,
            title=title,
            task=task,
            hint=mark("A matrix product is written @. It sums over the columns on the left and the rows on the right."),
            line=line(),
            shapes=f"{{{source}}} @ {{{weight}}} + {{{bias}}} → {{{name}}}",
            axes=("query" if letter == "Q" else "key", "d_head"),
            mistakes=(
                (line(end=" + 0"), Message(NO_BIAS, bias=bias)),
                (line(end=f" - {bias}"), mark("The bias is subtracted: add it.")),
                *(
                    (
                        line(one, is_rotated=rotated),
                        Message(OTHERS, others=Message(others[one]), weight=weight, bias=bias),
                    )
                    for one in swapped
                    for rotated in {is_rotated, False}
                ),
                (line(is_rotated=not is_rotated) if variant.is_rotated else "", rotation),
                *((line(source=other_source, end=end), other) for end in (("", " + 0") if other_source else ())),
            ),
        )


def _scores(variant: AttentionVariant) -> Iterator[BuildStep]:
    yield BuildStep(
        name="scores",
        title=mark("Dot products"),
        task=mark("Compare each query with each key: the dot product of every row of q with every row of k."),
        hint=mark("The matrix product sums over the columns of q, so the rows of k must become columns: transpose k."),
        line="q @ k.T",
        shapes="{q} @ {k.T} → {scores}",
        axes=("query", "key"),
        mistakes=(
            ("k @ q.T", mark("This is transposed: each row should be a query, and each column a key.")),
            ("q @ v.T", mark("Queries are compared with keys, k, not with values.")),
            ("q @ q.T", mark("This compares queries with queries: the right side is k.T.")),
            ("k @ k.T", mark("This compares keys with keys: the left side is q.")),
            ("q * k", mark("* multiplies cell by cell; the matrix product is @.")),
            ("q @ k.T / sqrt(d_k)", mark("These scores are already scaled: scaling is the next step.")),
        ),
    )
    bias = " + bias" if variant.has_bias else ""
    with_bias: tuple[tuple[str, str], ...] = (
        ("scores / sqrt(d_k)", NO_POSITIONS),
        ("(scores + bias) / sqrt(d_k)", mark("This scales the position bias, too: add it after the division.")),
        ("scores / sqrt(d_k) - bias", mark("The position bias is subtracted: add it.")),
        ("scores", mark("The scaling and the position bias are missing.")),
    )
    yield BuildStep(
        name="scaled",
        title=mark("Scaling"),
        task=mark(
            "Divide the dot products by √d_k, so that they do not grow with d_k; then add bias, the position bias."
        )
        if variant.has_bias
        else mark("Divide the dot products by √d_k, so that they do not grow with d_k, the width of the head."),
        hint=mark("sqrt(d_k) is the square root of d_k; dividing an array by a number divides every cell."),
        line=f"scores / sqrt(d_k){bias}",
        shapes="{scores} / √{d_k}" + (" + {bias}" if variant.has_bias else "") + " → {scaled}",
        axes=("query", "key"),
        mistakes=(
            (f"scores{bias}", UNSCALED),
            (f"scores * sqrt(d_k){bias}", mark("This multiplies by √d_k: divide by it.")),
            (f"scores / d_k{bias}", mark("This divides by d_k: divide by its square root.")),
            (
                f"scores / sqrt(n_heads * d_k){bias}",
                mark("Take the square root of d_k, the width of one head, not of d_model."),
            ),
            *(with_bias if variant.has_bias else ()),
        ),
    )
    yield BuildStep(
        name="masked",
        title=mark("Mask"),
        task=mark("Set the score to −∞ wherever mask is False: such a key gets no weight. True means “may attend”."),
        hint=mark(
            "masked_fill(condition, value) fills where the condition is True, and ~mask is True where mask forbids."
        ),
        line='scaled.masked_fill(~mask, float("-inf"))',
        shapes="{scaled}, {mask} → {masked}",
        axes=("query", "key"),
        mistakes=(
            ('scaled.masked_fill(mask, float("-inf"))', INVERTED),
            ("scaled", UNMASKED),
            ("scaled.masked_fill(~mask, 0)", mark("A score of 0 is not masked: e⁰ = 1. Fill with −∞.")),
            ('scaled.masked_fill(~mask, float("inf"))', mark("This fills with +∞: use −∞, whose exponential is 0.")),
            ("" if variant.is_cross else 'scaled.masked_fill(~mask.T, float("-inf"))', mark("The mask is transposed.")),
        ),
    )


def _softmax(variant: AttentionVariant) -> Iterator[BuildStep]:
    is_self = not variant.is_cross
    yield BuildStep(
        name="weights",
        title=mark("Exponentials"),
        task=mark(
            "First half of the softmax: subtract the maximum of each row, then take the exponential of every cell."
        ),
        hint=mark(
            "amax(dim=-1, keepdim=True) gives the maximum of each row as a column. Subtracting it changes no weight "
            "and keeps exp from overflowing."
        ),
        line="(masked - masked.amax(dim=-1, keepdim=True)).exp()",
        shapes="{masked} − {masked.amax(dim=-1, keepdim=True)} → {weights}",
        axes=("query", "key"),
        mistakes=(
            (
                "masked.exp()",
                mark("The row maximum is not subtracted: the weights will be the same, but exp can overflow."),
            ),
            ("masked - masked.amax(dim=-1, keepdim=True)", mark("The exponential is missing: apply exp.")),
            ("(masked - masked.amax(dim=0, keepdim=True)).exp()", COLUMNS),
            (
                "(masked - masked.max()).exp()",
                mark("This subtracts the largest score of all rows: subtract each row’s own maximum, dim=-1."),
            ),
            ("(masked - masked.amax(dim=-1)).exp()" if is_self else "", KEEPDIM),
            (
                "(masked.amax(dim=-1, keepdim=True) - masked).exp()",
                mark("The difference has the wrong sign: subtract the maximum from the scores."),
            ),
            ("masked.softmax(dim=-1)", mark("This is the whole softmax: this step is only its first half.")),
        ),
    )
    yield BuildStep(
        name="pattern",
        title=mark("Normalization"),
        task=mark(
            "Second half of the softmax: divide each row by its sum, so that the weights of each query sum to 1."
        ),
        hint=mark("sum(dim=-1, keepdim=True) gives the sum of each row as a column."),
        line="weights / weights.sum(dim=-1, keepdim=True)",
        shapes="{weights} / {weights.sum(dim=-1, keepdim=True)} → {pattern}",
        axes=("query", "key"),
        mistakes=(
            (
                "weights / weights.sum(dim=0, keepdim=True)",
                mark("Here the columns sum to 1. Each row belongs to one query and should sum to 1: use dim=-1."),
            ),
            ("weights / weights.sum()", mark("Here all cells together sum to 1: divide each row by its own sum.")),
            ("weights / weights.sum(dim=-1)" if is_self else "", KEEPDIM),
            ("weights", mark("The weights are not normalized: their rows do not sum to 1.")),
            ("weights.softmax(dim=-1)", mark("This takes the exponential twice: only divide by the sum of each row.")),
            ("masked.softmax(dim=0)", COLUMNS),
            ("scaled.softmax(dim=-1)", UNMASKED),
        ),
    )
    yield BuildStep(
        name="z",
        title=mark("Weighted values"),
        task=mark("Sum the values of all keys for each query, each weighted by its cell of the pattern."),
        hint=mark("A matrix product does this: it sums over the keys, the columns of pattern and the rows of v."),
        line="pattern @ v",
        shapes="{pattern} @ {v} → {z}",
        axes=("query", "d_head"),
        mistakes=(
            ("pattern @ k", KEYS_FOR_VALUES),
            ("pattern @ q" if is_self else "", mark("This sums the queries: the pattern weights the values, v.")),
            ("pattern.T @ v" if is_self else "", mark("The pattern is transposed: the weights of a query are a row.")),
            ("weights @ v", mark("These weights are not normalized: use pattern.")),
        ),
    )
