"""Terms of training: what is minimized, what it is measured by, and its settings."""

from pages.shared.glossary.papers import (
    JELINEK,
    LOSHCHILOV,
    MICIKEVICIUS,
    PASCANU,
    SHANNON,
    SZEGEDY,
    VASWANI,
    WITTEN,
)
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

MEASURES = (
    Term(
        name="cross-entropy",
        title=mark("Cross-entropy (loss)"),
        meaning=mark(
            "What training minimizes: the mean negative log-probability of the correct tokens, each conditioned on "
            "the correct preceding tokens (teacher forcing). The unit is nats per token: at 1 nat the model is as "
            "uncertain as in a choice among e ≈ 2.7 equally probable tokens."
        ),
        formula=r"L = -\frac{1}{n} \sum_{i=1}^{n} \ln p(t_i \mid t_{<i})",
        paper=SHANNON,
        page="train",
    ),
    Term(
        name="perplexity",
        title=mark("Perplexity"),
        meaning=mark(
            "e to the power of the loss: the number of equally probable tokens that would be just as uncertain. 1 "
            "is perfect; uniform guessing gives the vocabulary size."
        ),
        formula=r"\mathrm{PPL} = e^{L}",
        paper=JELINEK,
        page="train",
    ),
    Term(
        name="unigram-baseline",
        title=mark("Unigram baseline"),
        meaning=mark(
            "The held-out loss of a model that knows only how frequent each token y is: c counts tokens in the "
            "training data, n is their number and V the vocabulary. A model below this line has learned more than "
            "frequencies."
        ),
        formula=r"p(y) = \frac{c(y) + 1}{n + |V|}",
        page="train",
    ),
    Term(
        name="bigram-baseline",
        title=mark("Bigram baseline"),
        meaning=mark(
            "The held-out loss of a model that knows only the previous token x, from counts of pairs in the training "
            "data; t(x) is the number of different tokens that follow x. A model below this line uses more context "
            "than one token."
        ),
        formula=r"p(y \mid x) = \frac{c(x, y) + t(x)\, p(y)}{c(x) + t(x)}",
        paper=WITTEN,
        page="train",
    ),
    Term(
        name="accuracy",
        title=mark("Accuracy"),
        meaning=mark(
            "The fraction of tokens for which the most probable token is the correct one, under teacher forcing. It "
            "is usually higher than exact match, which requires every token of a text to be correct."
        ),
        page="train",
    ),
    Term(
        name="exact-match",
        title=mark("Exact match"),
        meaning=mark(
            "The fraction of held-out sources whose output is correct in every token up to the end. The model "
            "generates it by greedy decoding, without teacher forcing."
        ),
        page="models",
        view={"model": "en-fr"},
    ),
    Term(
        name="held-out-data",
        title=mark("Held-out data"),
        meaning=mark(
            "Texts that are not used for training. Only these show whether a model has learned the rule or "
            "memorized its training data (overfitting). Headlight measures loss, accuracy and exact match on them."
        ),
        page="train",
    ),
)

SETTINGS = (
    Term(
        name="label-smoothing",
        title=mark("Label smoothing"),
        meaning=mark(
            "The target gives the correct token probability 1 − ε and spreads ε evenly over the vocabulary. This "
            "keeps the model from becoming overconfident; the training loss is higher as a result."
        ),
        formula=r"L = -(1 - \varepsilon) \ln p(t) - \frac{\varepsilon}{|V|} \sum_{t'} \ln p(t')",
        paper=SZEGEDY,
        section="7",
        page="train",
    ),
    Term(
        name="warm-up",
        title=mark("Warm-up and learning rate schedule"),
        meaning=mark(
            "In the first w steps the learning rate rises linearly. In the paper (the Noam schedule) it then falls "
            "with the square root of the step s; alternatives are half a cosine and a constant rate."
        ),
        formula=r"d_\mathrm{model}^{-0.5} \cdot \min\left(s^{-0.5},\; s \cdot w^{-1.5}\right)",
        paper=VASWANI,
        section="5.3 (3)",
        page="train",
    ),
    Term(
        name="weight-decay",
        title=mark("Weight decay (AdamW)"),
        meaning=mark(
            "At each step the weights shrink by a small fraction λ times the learning rate η. AdamW does this "
            "separately from the gradient. It acts on matrices, not on biases and norms."
        ),
        formula=r"w \leftarrow (1 - \eta \lambda)\, w - \eta\, \frac{\hat m}{\sqrt{\hat v} + \epsilon}",
        paper=LOSHCHILOV,
        page="train",
    ),
    Term(
        name="gradient-clipping",
        title=mark("Gradient clipping"),
        meaning=mark(
            "If the L2 norm of the gradient over all parameters exceeds c, the gradient is scaled down to norm c. "
            "This keeps a single bad batch from derailing the training."
        ),
        formula=r"g \leftarrow g \cdot \min\!\left(1, \frac{c}{\lVert g \rVert}\right)",
        paper=PASCANU,
        page="train",
    ),
    Term(
        name="gradient-accumulation",
        title=mark("Gradient accumulation"),
        meaning=mark(
            "A batch is computed in several parts, one after the other, and their gradients are added before the "
            "weights are updated. The result is the same up to rounding, with less memory."
        ),
        page="train",
    ),
    Term(
        name="mixed-precision",
        title=mark("Mixed precision (bfloat16)"),
        meaning=mark(
            "In training, matrix products are computed in bfloat16, which has two to three significant digits and "
            "needs half the memory; weights and sums stay in float32."
        ),
        paper=MICIKEVICIUS,
        page="train",
    ),
    Term(
        name="snapshot",
        title=mark("Snapshot"),
        meaning=mark(
            "The weights of a model at one step of its training, saved along the way: densely at first, more "
            "sparsely later. The film shows them one after the other. A checkpoint is a model that is saved for use."
        ),
        page="film",
    ),
)
