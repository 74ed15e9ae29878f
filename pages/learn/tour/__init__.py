"""Tour: the paper in its own order, each idea live; predict, then see."""

from pages.learn.tour.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=1,
    title=mark("Tour"),
    icon="menu_book",
    subject="lessons",
    fields=FIELDS,
)
