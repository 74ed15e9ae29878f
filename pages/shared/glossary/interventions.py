"""Terms of interventions: changing a model while it runs, and models whose circuits are known."""

from pages.shared.glossary.papers import CHAN, GEVA, HEIMERSHEIM, LI, LINDNER, NANDA, VIG, WANG, WEISS
from pages.shared.glossary.term import Term
from transformer_core.errors import mark

TERMS = (
    Term(
        name="activation-patching",
        title=mark("Activation patching"),
        meaning=mark(
            "A component takes its activation from another run, the source run, while everything else is computed as "
            "usual. What changes in the output is what this activation causes. Positions are paired by their tokens."
        ),
        formula=r"z^{\text{target}} \leftarrow z^{\text{source}}",
        paper=VIG,
        section="3",
        page="interventions",
        view={"add": "patch"},
    ),
    Term(
        name="denoising-and-noising",
        title=mark("Denoising and noising"),
        meaning=mark(
            "The two directions of activation patching. Denoising puts a clean activation into the corrupted run "
            "and tests whether it is sufficient. Noising puts a corrupted one into the clean run and tests whether "
            "the clean one is necessary. The answers can differ, for instance where heads back each other up."
        ),
        paper=HEIMERSHEIM,
        page="interventions",
        view={"add": "patch"},
    ),
    Term(
        name="resample-ablation",
        title=mark("Resample ablation"),
        meaning=mark(
            "A component takes its activation from another text, so it carries no information about this one but "
            "stays in the range that the model knows. The effect depends on the other text: report it with every "
            "number."
        ),
        paper=CHAN,
        page="interventions",
    ),
    Term(
        name="optimal-ablation",
        title=mark("Optimal ablation"),
        meaning=mark(
            "A component’s activation is replaced by the constant vector that changes the output least. It is fitted "
            "by gradient descent over the chosen texts. At the optimum no other constant, zero and the mean among "
            "them, has a smaller effect."
        ),
        formula=r"a^* = \arg\min_a \mathbb{E}\left[D_{\mathrm{KL}}(p \,\|\, p_{z \leftarrow a})\right]",
        paper=LI,
        page="interventions",
    ),
    Term(
        name="attention-knockout",
        title=mark("Attention knockout"),
        meaning=mark(
            "A query may no longer attend to a key: the score is set to −∞ before the softmax, so that the other keys "
            "share the weight."
        ),
        formula=r"s_{ij} \leftarrow -\infty",
        paper=GEVA,
        page="interventions",
        view={"add": "cells"},
    ),
    Term(
        name="logit-difference",
        title=mark("Logit difference"),
        meaning=mark(
            "How much a model prefers one token to another at a position. It equals the difference of their "
            "log-probabilities; raising or lowering both by the same amount does not change it."
        ),
        formula=r"z_a - z_b = \log p_a - \log p_b",
        paper=WANG,
        page="interventions",
    ),
    Term(
        name="attribution-patching",
        title=mark("Attribution patching"),
        meaning=mark(
            "An estimate of the effect of patching at all places at once: the change of the activation times the "
            "gradient of the metric. It can be far off where the softmax is saturated, so it serves to select "
            "candidates for exact patching."
        ),
        formula=r"\Delta m \approx (z^{\text{source}} - z)^\top \nabla_z\, m",
        paper=NANDA,
        page="interventions",
        view={"view": "sweep"},
    ),
    Term(
        name="select-and-aggregate",
        title=mark("Select and aggregate"),
        meaning=mark(
            "The two halves of an attention head in RASP. A selector says which keys each query attends to, and "
            "aggregate averages a value over them. All other steps act on each position separately and become "
            "feed-forward layers."
        ),
        paper=WEISS,
        page="programs",
    ),
    Term(
        name="compiled-model",
        title=mark("Compiled model"),
        meaning=mark(
            "A Transformer whose weights are computed from a program, not trained. What each head does is known, so "
            "methods that explain heads can be tested on it."
        ),
        paper=LINDNER,
        page="programs",
    ),
)
