"""Terms of what is measured of a head, and of the kinds of heads."""

from pages.shared.glossary.papers import (
    ABNAR,
    GARG,
    KOBAYASHI,
    OLSSON,
    SHANNON,
    VOITA,
    XIAO,
    ZHANG_DIAGONAL,
)
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TERMS = (
    Term(
        name="attention-entropy",
        title=mark("Attention entropy"),
        meaning=mark(
            "The entropy of a row of the pattern in nats, averaged over the queries that may attend to at least two "
            "keys. 0: all attention on one key; log n: uniform attention over n keys. Training curves show it as a "
            "fraction of this maximum."
        ),
        formula=r"H_i = -\sum_j A_{ij} \ln A_{ij}",
        paper=SHANNON,
        section="6",
        page="heads",
        view={"measure": "entropy"},
    ),
    Term(
        name="attention-distance",
        title=mark("Attention distance"),
        meaning=mark(
            "How many tokens away a head attends: the distance between query and key, weighted by attention and "
            "averaged over the queries that may attend to at least two keys."
        ),
        formula=r"d_i = \sum_j A_{ij}\, |i - j|",
        page="heads",
        view={"measure": "distance"},
    ),
    Term(
        name="diagonality",
        title=mark("Diagonality"),
        meaning=mark(
            "How close a head’s attention is to the diagonal: D is the mean closeness of its keys to the diagonal (1 "
            "on it, 0 at the farthest allowed key), and U is the D of uniform attention. 1: all attention on the "
            "diagonal; 0: no closer than uniform attention."
        ),
        formula=r"\max\!\left(0, \frac{D - U}{1 - U}\right)",
        paper=ZHANG_DIAGONAL,
        page="heads",
        view={"measure": "diagonality"},
    ),
    Term(
        name="first-token-attention",
        title=mark("First-token attention"),
        meaning=mark(
            "The mean attention weight on the first key. In self-attention the first two queries are left out, "
            "because they have almost no other key to attend to."
        ),
        formula=r"\frac{1}{n - 2} \sum_{i \ge 2} A_{i0}",
        page="heads",
        view={"measure": "first"},
    ),
    Term(
        name="special-token-attention",
        title=mark("Special-token attention"),
        meaning=mark(
            "The mean attention weight on special tokens such as <bos>, <eos> or [SEP], over the queries that may "
            "attend to one and have at least two keys."
        ),
        page="heads",
        view={"measure": "special"},
    ),
    Term(
        name="attention-sink",
        title=mark("Attention sink"),
        meaning=mark(
            "A key that receives much attention whatever the query is, often the first token. Headlight calls a key a "
            "sink if it receives more than 30% of the attention on average over all heads, and more than twice what "
            "uniform attention would give it."
        ),
        paper=XIAO,
        section="3.1",
        page="heads",
        view={"model": "stories", "measure": "first"},
    ),
    Term(
        name="previous-token-score",
        title=mark("Previous-token score"),
        meaning=mark(
            "The mean attention weight on the token just before the query. The first two queries are left out. A head "
            "with a high score is a previous-token head."
        ),
        formula=r"\frac{1}{n - 2} \sum_{i \ge 2} A_{i,\,i-1}",
        paper=VOITA,
        page="heads",
        view={"model": "induction", "measure": "previous"},
    ),
    Term(
        name="induction-score",
        title=mark("Induction score"),
        meaning=mark(
            "For a token that occurred before: the attention weight on the tokens right after its earlier occurrences,"
            " summed, and averaged over all such tokens of the text. The original measure (prefix matching) uses "
            "repeated random tokens; Headlight uses any text."
        ),
        formula=r"\frac{1}{|R|} \sum_{i \in R}\; \sum_{j \le i,\; t_{j-1} = t_i} A_{ij},"
        r"\quad R = \{ i : t_i \in t_{<i} \}",
        paper=OLSSON,
        page="heads",
        view={"model": "induction", "measure": "induction"},
    ),
    Term(
        name="induction-head",
        title=mark("Induction head"),
        meaning=mark(
            "A head that continues repetitions: at a token that occurred before, it attends to the token that followed"
            " it, and makes that token more probable. In small models it works together with a previous-token head of "
            "an earlier layer."
        ),
        formula=r"[A]\,[B] \dots [A] \to [B]",
        paper=OLSSON,
        page="heads",
        view={"model": "induction", "measure": "induction"},
    ),
    Term(
        name="alignment-score",
        title=mark("Alignment score"),
        meaning=mark(
            "The mean attention weight on the tokens that determine the next token, where the corpus knows them: in "
            "translation the source words of the word that comes next. Headlight’s generated corpora know their "
            "alignment exactly."
        ),
        page="train",
    ),
    Term(
        name="head-emergence",
        title=mark("Head emergence"),
        meaning=mark(
            "The step at which a head takes on a role: the first of two consecutive snapshots at which at least 30% "
            "of its attention is on the keys of that role, four standard deviations above the value for shuffled "
            "tokens."
        ),
        page="film",
    ),
    Term(
        name="guided-head",
        title=mark("Guided head"),
        meaning=mark(
            "A head that was trained with an extra loss to attend from each pronoun to its noun: the cross-entropy "
            "between the correct keys G and the head’s row A. All other heads find their roles without guidance."
        ),
        formula=r"-\frac{1}{n} \sum_{i} \sum_j G_{ij} \ln A_{ij}",
        paper=GARG,
        section="4.2",
        page="heads",
        view={"model": "en-fr", "attention": "encoder", "layer": "1", "head": "0"},
    ),
    Term(
        name="norm-weighted-attention",
        title=mark("Norm-weighted attention"),
        meaning=mark(
            "How much a key contributes to the output of a head: the norm of its value after the output projection, "
            "times the attention weight. A key with a high weight may contribute little if its value is small."
        ),
        formula=r"\lVert A_{ij}\, v_j W^O \rVert",
        paper=KOBAYASHI,
        page="heads",
        view={"show": "written"},
    ),
    Term(
        name="attention-rollout",
        title=mark("Attention rollout"),
        meaning=mark(
            "An estimate of how much of each final state comes from each input token: the attention matrices of all "
            "layers, multiplied. Each layer is averaged over its heads and mixed half and half with the residual "
            "stream. It ignores feed-forward layers and values."
        ),
        formula=r"R_l = \left(\tfrac{1}{2} I + \tfrac{1}{2} \bar{A}_l\right) R_{l-1}",
        paper=ABNAR,
        section="3.1 (1)",
        page="heads",
        view={"across": "rollout"},
    ),
    Term(
        name="attention-flow",
        title=mark("Attention flow"),
        meaning=mark(
            "The maximum flow from an input token to a final state, in a network whose edge capacities are the "
            "weights of attention rollout. Each token is treated separately, so a row can sum to more than 1."
        ),
        paper=ABNAR,
        section="3.2",
        page="heads",
        view={"across": "flow"},
    ),
)
