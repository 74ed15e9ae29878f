"""Glossary: what does this term mean, and how is it computed here?"""

from pages.learn.glossary.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=8,
    title=mark("Glossary"),
    icon="sort_by_alpha",
    subject="lessons",
    fields=FIELDS,
)
