"""Build: can I write the paper's attention myself, line by line?"""

from pages.learn.build.view_fields import FIELDS, usual_head
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=3,
    title=mark("Build"),
    icon="construction",
    fields=FIELDS,
    is_unchanged=True,
    usual_head=usual_head,
)
