"""Heads: what does every head attend to in my text?"""

from pages.explore.heads.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=1,
    title=mark("Heads"),
    icon="grid_view",
    fields=FIELDS,
    views=True,
)
