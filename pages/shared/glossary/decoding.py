"""Terms of text: how it becomes tokens, and how a model generates them."""

from pages.shared.glossary.papers import DEVLIN, FAN, HOLTZMAN, KESKAR, NGUYEN, RADFORD, VASWANI, WILLIAMS, WU
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TOKENS = (
    Term(
        name="token",
        title=mark("Token"),
        meaning=mark(
            "What a text is split into: a word, part of a word, a character or a punctuation mark. A model reads "
            "and generates tokens of its vocabulary, each represented by an id."
        ),
        page="models",
    ),
    Term(
        name="byte-level-bpe",
        title=mark("Subwords (byte-level BPE)"),
        meaning=mark(
            "Byte-pair encoding starts from single bytes and repeatedly merges the most frequent pair of neighbours "
            "into a new token. Frequent words become one token, rare ones several, and no text is unknown."
        ),
        paper=RADFORD,
        section="2.2",
        page="models",
    ),
    Term(
        name="special-tokens",
        title=mark("Special tokens"),
        meaning=mark(
            "Tokens that are not text: <bos> begins a sequence, <eos> ends it, <pad> fills up a batch, <unk> "
            "replaces what is not in the vocabulary, <mask> hides a token to be predicted. BERT’s [CLS] and [SEP] "
            "are special tokens, too."
        ),
        page="models",
    ),
    Term(
        name="masked-language-modelling",
        title=mark("Masked language modelling"),
        meaning=mark(
            "The task of encoder-only models such as BERT: 15% of the tokens of a text are chosen and have to be "
            "predicted from both sides. Of these, 80% become <mask>, 10% become a random token, and 10% stay "
            "unchanged."
        ),
        paper=DEVLIN,
        section="3.1",
        page="decoding",
        view={"model": "fill-in"},
    ),
)

TERMS = (
    Term(
        name="greedy-decoding",
        title=mark("Greedy decoding"),
        meaning=mark(
            "At each step, the most probable token is chosen. It is fast and always gives the same output, but not "
            "always the most probable text."
        ),
        formula=r"t_n = \arg\max_t\, p(t \mid t_{<n})",
        page="decoding",
    ),
    Term(
        name="beam-search",
        title=mark("Beam search"),
        meaning=mark(
            "At each step, the k most probable hypotheses are continued and the others are dropped. It often finds a "
            "more probable text than greedy decoding, which is the case k = 1."
        ),
        paper=VASWANI,
        section="6.1",
        page="decoding",
        view={"model": "en-fr", "part": "beams"},
    ),
    Term(
        name="length-penalty",
        title=mark("Length penalty"),
        meaning=mark(
            "Beam search divides the log-probability of a hypothesis of n tokens by this number; otherwise short texts"
            " would win. α = 0: off; 0.6: as in the paper. Many libraries divide by a power of n instead."
        ),
        formula=r"\left(\frac{5 + n}{6}\right)^{\alpha} \quad\text{/}\quad n^\alpha",
        paper=WU,
        section="(14)",
        page="decoding",
        view={"model": "en-fr", "part": "beams"},
    ),
    Term(
        name="temperature",
        title=mark("Temperature"),
        meaning=mark(
            "The logits are divided by it before the softmax. Below 1, probable tokens become more probable; above 1, "
            "the distribution becomes flatter. At 0 the most probable token is always chosen."
        ),
        formula=r"p = \mathrm{softmax}(\ell / T)",
        paper=HOLTZMAN,
        section="3.3",
        page="decoding",
        view={"model": "stories", "temperature": "1"},
    ),
    Term(
        name="top-k",
        title=mark("Top-k"),
        meaning=mark("Only the k most probable tokens can be sampled. 0: off."),
        paper=FAN,
        page="decoding",
        view={"model": "stories", "temperature": "1", "top_k": "5"},
    ),
    Term(
        name="top-p",
        title=mark("Top-p (nucleus sampling)"),
        meaning=mark(
            "Only the nucleus V can be sampled: the fewest most probable tokens that together have at least "
            "probability p. 1: off."
        ),
        formula=r"\sum_{t \in V} p(t) \ge p",
        paper=HOLTZMAN,
        section="3.1",
        page="decoding",
        view={"model": "stories", "temperature": "1", "top_p": "0.9"},
    ),
    Term(
        name="min-p",
        title=mark("Min-p"),
        meaning=mark(
            "Only tokens that are at least this fraction as probable as the most probable token can be sampled. 0: off."
        ),
        formula=r"p(t) \ge p_\mathrm{min} \max_{t'} p(t')",
        paper=NGUYEN,
        page="decoding",
        view={"model": "stories", "temperature": "1", "min_p": "0.1"},
    ),
    Term(
        name="repetition-penalty",
        title=mark("Repetition penalty"),
        meaning=mark(
            "Makes tokens that are already in the text less probable: their positive logits are divided by θ, their "
            "negative ones multiplied by it. 1: off."
        ),
        formula=r"\ell_t \leftarrow "
        r"\begin{cases} \ell_t / \theta & \ell_t \ge 0 \\ \ell_t\, \theta & \ell_t < 0 \end{cases}",
        paper=KESKAR,
        section="4.1",
        page="decoding",
        view={"model": "stories", "repetition": "1.3"},
    ),
    Term(
        name="kv-cache",
        title=mark("KV cache"),
        meaning=mark(
            "The keys and values of all tokens so far, kept during generation. Each step then computes only the new "
            "token; the output stays the same, up to rounding."
        ),
        page="decoding",
        view={"model": "stories", "part": "cache"},
    ),
    Term(
        name="teacher-forcing",
        title=mark("Teacher forcing"),
        meaning=mark(
            "The model reads a given target instead of its own output, so every token is predicted from the correct "
            "tokens before it. Training works this way, and a typed target is read this way. Free-running is the "
            "opposite: the model reads its own output."
        ),
        paper=WILLIAMS,
        page="decoding",
        view={"model": "en-fr", "part": "led"},
    ),
    Term(
        name="mean-token-probability",
        title=mark("Mean token probability"),
        meaning=mark(
            "The geometric mean of the probabilities of the tokens of an output: e to the power of the mean "
            "log-probability. It is 1 / perplexity."
        ),
        formula=r"\exp\!\Bigl(\frac{1}{n} \sum_{i=1}^{n} \ln p(t_i \mid t_{<i})\Bigr)",
        page="decoding",
        view={"model": "en-fr", "part": "led"},
    ),
)
