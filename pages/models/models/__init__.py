"""Models: which models are here, what is each good for, and how do I bring in my own?"""

from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(package=__name__, place=1, title=mark("Models"), icon="inventory_2", subject="models", views=True)
