"""Film: when did this head come about? Any text at any moment of the training."""

from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(package=__name__, place=2, title=mark("Film"), icon="movie", subject="run")
