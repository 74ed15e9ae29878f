"""Terms of how a model knows the order of its tokens."""

from pages.shared.glossary.papers import GEHRING, PRESS, RAFFEL, SU, VASWANI
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TERMS = (
    Term(
        name="positional-encoding",
        title=mark("Positional encoding"),
        meaning=mark(
            "Attention alone treats tokens as an unordered set. A positional encoding tells the model where each "
            "token is: it is added to the embeddings, rotates queries and keys, or is added to the scores."
        ),
        paper=VASWANI,
        section="3.5",
        page="positions",
    ),
    Term(
        name="sinusoidal-encoding",
        title=mark("Sinusoidal encoding"),
        meaning=mark(
            "Sines and cosines of different wavelengths, added to the embeddings. Nothing is learned. The wavelengths "
            "go from 2π to 10,000 · 2π positions."
        ),
        formula=r"\mathrm{PE}_{p,\,2i} = \sin \frac{p}{10000^{2i/d}},"
        r"\quad \mathrm{PE}_{p,\,2i+1} = \cos \frac{p}{10000^{2i/d}}",
        paper=VASWANI,
        section="3.5",
        page="positions",
        view={"encoding": "sinusoidal_interleaved"},
    ),
    Term(
        name="learned-positions",
        title=mark("Learned positions"),
        meaning=mark(
            "A learned vector per position, added to the embedding. There is none for positions beyond the model’s "
            "maximum length. GPT-2 and BERT use them."
        ),
        paper=GEHRING,
        page="positions",
        view={"model": "stories", "encoding": "learned"},
    ),
    Term(
        name="rope",
        title=mark("RoPE (rotary positions)"),
        meaning=mark(
            "Rotates pairs of numbers of each query and key by an angle proportional to the position. The score "
            "then depends only on the distance between query and key, not on their absolute positions."
        ),
        formula=r"\begin{pmatrix} a \\ b \end{pmatrix} \mapsto "
        r"\begin{pmatrix} a \cos p\theta_i - b \sin p\theta_i \\ a \sin p\theta_i + b \cos p\theta_i \end{pmatrix},"
        r"\quad \theta_i = 10000^{-2i/d}",
        paper=SU,
        section="3.2.2 (15)",
        page="positions",
        view={"model": "fill-in", "encoding": "rotary_halves"},
    ),
    Term(
        name="alibi",
        title=mark("ALiBi"),
        meaning=mark(
            "Subtracts from each score the distance between query and key times a slope, which is fixed and "
            "different for each head. The formula gives the slopes of n heads, h = 0, 1, …, for n a power of two."
        ),
        formula=r"s_{ij} \leftarrow s_{ij} - m_h\, |i - j|,\quad m_h = 2^{-8 (h + 1) / n}",
        paper=PRESS,
        section="3",
        page="positions",
        view={"model": "induction", "encoding": "alibi"},
    ),
    Term(
        name="relative-position-bias",
        title=mark("Relative position bias"),
        meaning=mark(
            "A learned number per head and distance, added to each score. Short distances have one each; long ones "
            "share buckets of logarithmic width. T5 uses it."
        ),
        formula=r"s_{ij} \leftarrow s_{ij} + b_{h,\,\mathrm{bucket}(j - i)}",
        paper=RAFFEL,
        section="2.1",
        page="positions",
        view={"encoding": "relative_buckets"},
    ),
)
