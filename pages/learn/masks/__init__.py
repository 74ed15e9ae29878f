"""Masks: what may look at what, and what goes wrong otherwise?"""

from pages.learn.masks.view_fields import FIELDS, usual_head
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=5,
    title=mark("Masks"),
    icon="grid_off",
    fields=FIELDS,
    usual_head=usual_head,
)
