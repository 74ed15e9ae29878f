"""Attention step by step: how does this head turn these vectors into this pattern and this output, number by number?"""

from pages.learn.steps.view_fields import FIELDS, usual_head
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=2,
    title=mark("Attention step by step"),
    icon="footprint",
    fields=FIELDS,
    usual_head=usual_head,
)
