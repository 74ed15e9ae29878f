"""Train: how does a model learn this corpus, now, before my eyes?"""

from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(package=__name__, place=1, title=mark("Train"), icon="model_training", subject="run")
