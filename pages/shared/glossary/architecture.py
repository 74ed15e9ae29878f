"""Terms of the parts around attention in a Transformer."""

from pages.shared.glossary.papers import BA, ELHAGE, PRESS_WOLF, SHAZEER, SRIVASTAVA, VASWANI, XIONG, ZHANG
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TERMS = (
    Term(
        name="encoder-decoder",
        title=mark("Encoder and decoder"),
        meaning=mark(
            "An encoder reads a whole text, with attention in both directions. A decoder generates a text token by "
            "token, with a causal mask. Translation models have both; GPT is decoder-only, BERT encoder-only."
        ),
        paper=VASWANI,
        section="3.1",
        page="architecture",
    ),
    Term(
        name="residual-stream",
        title=mark("Residual stream"),
        meaning=mark(
            "The state of a token as it passes through the layers. Each sub-layer (attention or feed-forward) reads it"
            " and adds its output to it."
        ),
        formula=r"x \leftarrow x + \mathrm{Sublayer}(x)",
        paper=ELHAGE,
        page="architecture",
        view={"part": "stream"},
    ),
    Term(
        name="layer-norm",
        title=mark("Layer norm"),
        meaning=mark(
            "Normalizes the state of each token on its own: minus its mean, divided by its standard deviation, then "
            "scaled by γ and shifted by β, which are learned."
        ),
        formula=r"\frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta",
        paper=BA,
        section="(3, 4)",
        page="steps",
        view={"model": "en-fr", "stage": "add_norm"},
    ),
    Term(
        name="rmsnorm",
        title=mark("RMSNorm"),
        meaning=mark(
            "A layer norm without the mean and without a shift: the state of each token is divided by its root mean "
            "square and scaled by γ."
        ),
        formula=r"\frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \varepsilon}} \odot \gamma",
        paper=ZHANG,
        section="(4)",
        page="train",
    ),
    Term(
        name="pre-norm",
        title=mark("Pre-norm and post-norm"),
        meaning=mark(
            "Where the layer norm is placed. Post-norm, as in the paper: after the addition to the residual stream. "
            "Pre-norm, as in most later models: before each sub-layer, which makes training more stable."
        ),
        formula=r"\mathrm{LN}(x + \mathrm{Sublayer}(x)) \quad\text{/}\quad x + \mathrm{Sublayer}(\mathrm{LN}(x))",
        paper=XIONG,
        page="architecture",
    ),
    Term(
        name="feed-forward",
        title=mark("Feed-forward network"),
        meaning=mark(
            "The last sub-layer of each block, applied to each position separately: two linear layers with an "
            "activation φ in between; ReLU in the paper."
        ),
        formula=r"\mathrm{FFN}(x) = \varphi(x W_1 + b_1)\, W_2 + b_2",
        paper=VASWANI,
        section="3.3 (2)",
        page="steps",
        view={"stage": "feed_forward"},
    ),
    Term(
        name="gated-feed-forward",
        title=mark("Gated feed-forward network"),
        meaning=mark(
            "A feed-forward network whose hidden units are multiplied by a second projection, the gate. With SiLU as "
            "activation it is called SwiGLU; Llama uses it."
        ),
        formula=r"\bigl(\varphi(x W_\mathrm{gate}) \odot x W_1\bigr)\, W_2",
        paper=SHAZEER,
        section="(6)",
        page="architecture",
    ),
    Term(
        name="dropout",
        title=mark("Dropout"),
        meaning=mark(
            "In training, each number is set to 0 with probability p and the others are divided by 1 − p, so that "
            "the model does not rely on any single one. At inference, nothing is dropped."
        ),
        formula=r"x \leftarrow \frac{m \odot x}{1 - p},\quad m_i \sim \mathrm{Bernoulli}(1 - p)",
        paper=SRIVASTAVA,
        page="masks",
        view={"part": "dropout"},
    ),
    Term(
        name="logits",
        title=mark("Logits"),
        meaning=mark(
            "The output of the last linear layer (unembedding): one number per token of the vocabulary. The softmax "
            "turns them into the distribution of the next token."
        ),
        formula=r"\ell = x W_U,\quad p = \mathrm{softmax}(\ell)",
        paper=VASWANI,
        section="3.4",
        page="architecture",
        view={"block": "unembed"},
    ),
    Term(
        name="tied-embeddings",
        title=mark("Tied embeddings"),
        meaning=mark(
            "One matrix serves as embedding and as unembedding, which saves parameters. In the paper source embedding,"
            " target embedding and unembedding are all shared."
        ),
        paper=PRESS_WOLF,
        page="architecture",
        view={"part": "parameters"},
    ),
)
