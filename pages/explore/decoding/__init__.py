"""Decoding: how does the output come about, token by token, and what else could it have said?"""

from pages.explore.decoding.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=2,
    title=mark("Decoding"),
    icon="edit_note",
    fields=FIELDS,
    views=True,
)
