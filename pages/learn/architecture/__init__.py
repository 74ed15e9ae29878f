"""Architecture: what is inside, what shape does each tensor have, where are the parameters?"""

from pages.learn.architecture.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=6,
    title=mark("Architecture"),
    icon="account_tree",
    fields=FIELDS,
)
