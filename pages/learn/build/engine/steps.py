"""The paper's attention in twelve lines.

Lines 1 to 9 are one head, line 10 is equation (1) for all heads at once, and lines 11 and 12 are the rest of multi-head
attention.

Source: Vaswani et al. 2017, sec. 3.2.1, eq. (1), and sec. 3.2.2.
"""

from collections.abc import Iterator
from functools import cache

from pages.learn.build.engine import one_head
from pages.learn.build.engine.one_head import AttentionVariant, BuildStep
from transformer_core.errors import Message, mark

N_OF_ONE_HEAD = 9  # lines that compute one head


@cache
def steps_of(variant: AttentionVariant) -> tuple[BuildStep, ...]:
    """Return the twelve steps of an attention."""
    return (*one_head.steps(variant), *all_heads(variant))


def all_heads(variant: AttentionVariant) -> Iterator[BuildStep]:
    """Yield the steps 10 to 12: all heads at once, their concatenation, and the output projection."""

    def attention(
        scores: str = "Q @ K.transpose(-2, -1) / sqrt(d_k)",
        biases: str = " + biases" if variant.has_bias else "",
        mask: str = "~mask",
        dim: int = -1,
        values: str = "V",
    ) -> str:
        filled = f'({scores}{biases}).masked_fill({mask}, float("-inf"))' if mask else f"({scores}{biases})"
        return f"softmax({filled}, dim={dim}) @ {values}"

    unscaled = "Q @ K.transpose(-2, -1)"
    yield BuildStep(
        name="Z",
        title=mark("All heads"),
        task=mark(
            "Equation (1) for all heads at once: Q, K, V are [head, token, d_k]. Write steps 4 to 9 in one line, "
            "with biases added to the scaled scores."
        )
        if variant.has_bias
        else mark(
            "Equation (1) for all heads at once: Q, K, V are [head, token, d_k]. Write steps 4 to 9 in one line."
        ),
        hint=mark(
            "@ and softmax(…, dim=-1) act on each head separately. K.T would reverse all three dimensions: swap the "
            "last two with transpose(-2, -1)."
        ),
        line=attention(),
        shapes="{Q} @ {K.transpose(-2, -1)} → {Q @ K.transpose(-2, -1)}; {Q @ K.transpose(-2, -1)} @ {V} → {Z}",
        axes=("head", "query", "d_head"),
        mistakes=(
            (attention(unscaled), one_head.UNSCALED),
            (attention(mask=""), one_head.UNMASKED),
            (attention(mask="mask"), one_head.INVERTED),
            (attention(values="K"), one_head.KEYS_FOR_VALUES),
            (attention(dim=-2), one_head.COLUMNS),
            (attention(dim=0), mark("This softmax runs over the heads (dim=0): it must run over the keys, dim=-1.")),
            (attention(unscaled, mask=""), mark("The scaling and the mask are missing.")),
            *(
                (
                    (attention(biases=""), one_head.NO_POSITIONS),
                    (attention(biases=" + bias"), mark("This adds the bias of one head to all heads: use biases.")),
                )
                if variant.has_bias
                else ()
            ),
        ),
    )
    yield BuildStep(
        name="concat",
        title=mark("Concatenation"),
        task=mark("Put the outputs of all heads side by side: one row per token, and in it one head after another."),
        hint=mark(
            "Bring the tokens to the front with transpose(0, 1), then merge the last two dimensions with "
            "reshape(n_queries, n_heads * d_k)."
        ),
        line="Z.transpose(0, 1).reshape(n_queries, n_heads * d_k)",
        shapes="{Z} → {Z.transpose(0, 1)} → {concat}",
        axes=("query", "head d_head"),
        mistakes=(
            (
                "Z.reshape(n_queries, n_heads * d_k)",
                mark("The shape is correct, but each row mixes numbers of several tokens: use transpose(0, 1) first."),
            ),
            (
                "Z.permute(1, 2, 0).reshape(n_queries, n_heads * d_k)",
                mark("The heads are interleaved: in a row, one whole head must follow another."),
            ),
            (
                "Z.transpose(1, 2).reshape(n_queries, n_heads * d_k)",
                mark("This swaps tokens and d_k: swap heads and tokens, transpose(0, 1)."),
            ),
        ),
    )
    yield BuildStep(
        name="attn_out",
        title=mark("Output projection"),
        task=mark(
            "Mix the heads: multiply by W_O and add b_O. The result is what attention adds to the residual stream."
        ),
        hint=mark("A matrix product and a sum, as in the first line."),
        line="concat @ W_O + b_O",
        shapes="{concat} @ {W_O} + {b_O} → {attn_out}",
        axes=("query", "d_model"),
        mistakes=(
            ("concat @ W_O", Message(one_head.NO_BIAS, bias="b_O")),
            ("concat @ W_O - b_O", mark("The bias is subtracted: add it.")),
            ("concat @ W_O.T + b_O", mark("W_O is transposed: its rows belong to the columns of concat.")),
            ("concat @ W_O + b_O + x", mark("The residual is added after attention: leave out x.")),
        ),
    )
