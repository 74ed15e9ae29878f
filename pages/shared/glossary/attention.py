"""Terms of attention itself: what goes into it, what comes out, and what may be attended to."""

from pages.shared.glossary.papers import AINSLIE, BELTAGY, VASWANI
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TERMS = (
    Term(
        name="attention",
        title=mark("Attention"),
        meaning=mark(
            "Scaled dot-product attention: each query is compared with all keys, the softmax turns the scores into "
            "weights, and the output is the weighted sum of the values. The scores are divided by √d_head, so that "
            "they do not grow with the width of a head."
        ),
        formula=r"\mathrm{Attention}(Q, K, V) = "
        r"\mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_\mathrm{head}}}\right) V",
        paper=VASWANI,
        section="3.2.1 (1)",
        page="steps",
    ),
    Term(
        name="attention-head",
        title=mark("Attention head"),
        meaning=mark(
            "One of several attentions that run in parallel in a layer, each with its own projections. Their "
            "outputs are concatenated and projected once more. L1.H3 is head 3 of layer 1, both counted from 0."
        ),
        formula=r"\mathrm{head}_i = \mathrm{Attention}(X W^Q_i, X W^K_i, X W^V_i)",
        paper=VASWANI,
        section="3.2.2",
        page="heads",
    ),
    Term(
        name="query-key-value",
        title=mark("Query, key and value"),
        meaning=mark(
            "Three linear projections of a token’s state, for each head. The query is what a token looks for, the key "
            "is what it is compared with, and the value is what it passes on when it is attended to."
        ),
        formula=r"q = x W^Q,\quad k = x W^K,\quad v = x W^V",
        paper=VASWANI,
        section="3.2.2",
        page="steps",
        view={"stage": "projection"},
    ),
    Term(
        name="attention-score",
        title=mark("Attention score"),
        meaning=mark(
            "The scaled dot product of a query and a key, before the softmax; some models add a position bias. A "
            "masked score is −∞."
        ),
        formula=r"s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_\mathrm{head}}}",
        paper=VASWANI,
        section="3.2.1",
        page="heads",
        view={"show": "scores"},
    ),
    Term(
        name="attention-pattern",
        title=mark("Attention pattern"),
        meaning=mark(
            "The attention weights of a head on a text: one row per query, one column per key. The softmax over the "
            "keys makes each row sum to 1. A row whose keys are all masked is 0."
        ),
        formula=r"A_{ij} = \frac{e^{s_{ij}}}{\sum_{j'} e^{s_{ij'}}}",
        paper=VASWANI,
        section="3.2.1",
        page="heads",
    ),
    Term(
        name="self-attention",
        title=mark("Self-attention"),
        meaning=mark("Attention within one sequence: queries, keys and values all come from the same tokens."),
        paper=VASWANI,
        section="3.2.3",
        page="heads",
        view={"model": "en-fr", "attention": "encoder"},
    ),
    Term(
        name="cross-attention",
        title=mark("Cross-attention"),
        meaning=mark(
            "Attention from the decoder to the encoder: queries come from the decoder, keys and values from the "
            "encoder’s final states. Through it the output depends on the source."
        ),
        paper=VASWANI,
        section="3.2.3",
        page="heads",
        view={"model": "en-fr", "attention": "cross"},
    ),
    Term(
        name="causal-mask",
        title=mark("Causal mask"),
        meaning=mark(
            "Each token may attend to itself and to earlier tokens only; the scores of later tokens are set to −∞. So "
            "a decoder is trained on all positions of a text at once without seeing the tokens that it has to predict."
        ),
        formula=r"M_{ij} = \begin{cases} 0 & j \le i \\ -\infty & j > i \end{cases}",
        paper=VASWANI,
        section="3.2.3",
        page="masks",
        view={"preset": "look_ahead"},
    ),
    Term(
        name="padding-mask",
        title=mark("Padding mask"),
        meaning=mark(
            "Padding tokens make the texts of a batch equally long. The padding mask sets their scores to −∞, so no "
            "query attends to them."
        ),
        page="masks",
        view={"preset": "padding"},
    ),
    Term(
        name="sliding-window",
        title=mark("Sliding window"),
        meaning=mark(
            "A mask that lets each query attend only to keys less than w tokens away, including its own. This makes "
            "attention on long texts cheaper."
        ),
        formula=r"|i - j| < w",
        paper=BELTAGY,
        section="3.1",
        page="masks",
        view={"preset": "window"},
    ),
    Term(
        name="leak-test",
        title=mark("Leak test"),
        meaning=mark(
            "One token of the text is changed, and the logits at all positions are compared with those before. With a "
            "correct causal mask, no position before the changed token changes at all."
        ),
        page="masks",
        view={"part": "leak"},
    ),
    Term(
        name="grouped-query-attention",
        title=mark("Grouped-query attention"),
        meaning=mark(
            "Several query heads share the keys and values of one key-value head. This makes the KV cache smaller. "
            "With a single key-value head it is called multi-query attention."
        ),
        paper=AINSLIE,
        section="2.2",
        page="architecture",
        view={"show": "weights"},
    ),
)
