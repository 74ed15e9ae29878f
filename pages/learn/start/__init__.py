"""Start: how does my text become a prediction, on one screen?"""

from pages.learn.start.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=0,
    title=mark("Start"),
    icon="play_circle",
    subject="stage",
    fields=FIELDS,
)
