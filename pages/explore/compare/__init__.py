"""Compare two sides: heads, layers, texts, checkpoints, snapshots of a training, models, interventions."""

from pages.explore.compare.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=3,
    title=mark("Compare"),
    icon="compare",
    fields=FIELDS,
    views=True,
    usual_head=None,  # the one that changed most
)
