"""Terms of comparisons: of heads, of models, and of a model with one that was changed."""

from pages.shared.glossary.papers import (
    ELHAGE,
    ENDRES,
    KORNBLITH,
    KUHN,
    KULLBACK,
    MICHEL,
    OCH,
    TORGERSON,
)
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

ZERO_ABLATED = (
    '[{"type":"ablation","component":{"kind":"head","attention":"cross","layer":1,"heads":[2]},"method":"zero"}]'
)
UNIFORM = '[{"type":"cells","attention":"cross","layer":1,"operation":"uniform","heads":[2]}]'
TERMS = (
    Term(
        name="jensen-shannon-distance",
        title=mark("Jensen-Shannon distance"),
        meaning=mark(
            "How different two rows of attention are: the square root of the Jensen-Shannon divergence in base 2. 0: "
            "identical rows; 1: rows without a common key. For two heads it is averaged over the queries that may "
            "attend to at least two keys."
        ),
        formula=r"\sqrt{H_2\!\left(\tfrac{p + q}{2}\right) - \tfrac{H_2(p) + H_2(q)}{2}},"
        r"\quad H_2(p) = -\sum_j p_j \log_2 p_j",
        paper=ENDRES,
        page="compare",
        view={"view": "changed"},
    ),
    Term(
        name="head-map",
        title=mark("Head map"),
        meaning=mark(
            "All heads as points in a plane, placed by classical multidimensional scaling so that distances in the "
            "plane follow the distances between the heads. Clusters come from average linkage on the full distances."
        ),
        paper=TORGERSON,
        page="compare",
        view={"view": "map"},
    ),
    Term(
        name="matched-heads",
        title=mark("Matched heads"),
        meaning=mark(
            "Trainings with different seeds learn similar heads in different places. Each head of one is paired with a"
            " head of the other, so that the total similarity (1 minus the Jensen-Shannon divergence of their rows, in"
            " bits) is as high as possible."
        ),
        paper=KUHN,
        page="film",
    ),
    Term(
        name="cka",
        title=mark("CKA"),
        meaning=mark(
            "Centered kernel alignment, here linear: how similar two sets of vectors at the same positions are, in [0,"
            " 1]. X and Y have centered columns. Rotating or scaling one of them does not change it."
        ),
        formula=r"\mathrm{CKA}(X, Y) = "
        r"\frac{\lVert Y^\top X \rVert_F^2}{\lVert X^\top X \rVert_F \,\lVert Y^\top Y \rVert_F}",
        paper=KORNBLITH,
        section="3",
        page="compare",
        view={"view": "layers"},
    ),
    Term(
        name="zero-ablation",
        title=mark("Zero ablation"),
        meaning=mark(
            "A head is switched off: its output z is set to zero, and the rest of the model runs as usual. If the "
            "loss rises, the model needed the head on this text."
        ),
        formula=r"z \leftarrow 0",
        paper=MICHEL,
        section="3",
        page="compare",
        view={"model": "en-fr", "bchange": ZERO_ABLATED, "view": "effect"},
    ),
    Term(
        name="uniform-attention",
        title=mark("Uniform attention"),
        meaning=mark(
            "An ablation that keeps the values but removes the choice: the head attends equally to all allowed keys. "
            "The loss shows whether it matters where the head attends."
        ),
        formula=r"A_{ij} \leftarrow 1 / n_i",
        page="compare",
        view={"model": "en-fr", "bchange": UNIFORM, "view": "effect"},
    ),
    Term(
        name="kl-divergence",
        title=mark("KL divergence"),
        meaning=mark(
            "How far the next-token distribution q after a change is from the distribution p before it, in nats, "
            "averaged over the output tokens. 0: nothing changed."
        ),
        formula=r"\mathrm{KL}(p \,\Vert\, q) = \sum_t p_t (\ln p_t - \ln q_t)",
        paper=KULLBACK,
        section="(2.4)",
        page="compare",
        view={"model": "en-fr", "bchange": ZERO_ABLATED, "view": "effect"},
    ),
    Term(
        name="score-decomposition",
        title=mark("Score decomposition"),
        meaning=mark(
            "A score is a sum: query and key are linear in the residual stream, which is itself a sum of embedding, "
            "position and the outputs of earlier layers. With the statistics of the layer norms frozen, the parts add "
            "up exactly."
        ),
        formula=r"s_{ij} = \sum_{a, b} \frac{q_i^{(a)} \cdot k_j^{(b)}}{\sqrt{d_\mathrm{head}}}",
        paper=ELHAGE,
        page="positions",
        view={"part": "model"},
    ),
    Term(
        name="alignment-error-rate",
        title=mark("Alignment error rate"),
        meaning=mark(
            "How far the predicted word links A are from the gold links S: 0 if they agree, 1 if they share none. "
            "Headlight predicts one link per target word, to the source word with the highest weight."
        ),
        formula=r"\mathrm{AER} = 1 - \frac{2\, |A \cap S|}{|A| + |S|}",
        paper=OCH,
        section="4.1",
        page="decoding",
        view={"model": "en-fr", "part": "alignment"},
    ),
)
