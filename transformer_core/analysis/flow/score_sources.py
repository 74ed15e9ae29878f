"""Why this cell? One head's scores, split into what earlier parts of the model wrote on both sides of the product.

What a query and a key are read from is a sum: of the token's embedding, its position, and what each head and each
feed-forward network before has added. Projections keep sums apart, so that each score is a sum over pairs of a source
of the query and a source of the key.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer_core.analysis.walkthrough.sources import ScoreSources
from transformer_core.analysis.walkthrough.splitting import split_scores

if TYPE_CHECKING:
    from transformer_core.model.transformer import Transformer


def score_sources(
    model: "Transformer", inputs: Sequence[Sequence[int]], *, attention: str, layer: int, head: int
) -> ScoreSources:
    """Run the model once over a text, and split one head's scores into their sources.

    Exact, but that a normalization on the way is taken as a division by a fixed number, the one that it did divide by:
    had a source not been there, that number would have been another. Heads and feed-forward networks count as they were
    on this text. All biases on the way together are one source; those of values and inside feed-forward networks belong
    to the head and the network.

    Args:
        model: in evaluation mode, on any device and in any precision.
        inputs: tokens of the text, and of the decoder's input where there are two stacks: `ModelRun.inputs`.
        attention: "encoder", "decoder" or "cross".
        layer: from 0.
        head: from 0.

    Raises:
        SiteError: an attention, a layer or a head that the model has not.
        TextError: tokens that the model cannot take.

    Source: Elhage et al. 2021, "A mathematical framework for Transformer circuits", for scores as sums over pairs of
    sources; Dai et al. 2019, "Transformer-XL", sec. 3.3, for content and position.
    """
    return split_scores(model, inputs, attention=attention, layer=layer, head=head)
