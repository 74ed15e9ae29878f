"""Positions: how does the model know the order of its tokens, and what do other encodings do?"""

from pages.learn.positions.view_fields import FIELDS, usual_head
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=4,
    title=mark("Positions"),
    icon="straighten",
    subject="model",
    fields=FIELDS,
    usual_head=usual_head,
)
