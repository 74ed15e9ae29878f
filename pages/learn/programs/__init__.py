"""Programs: which heads does this program become?"""

from pages.learn.programs.view_fields import FIELDS
from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(
    package=__name__,
    place=7,
    title=mark("Programs"),
    icon="code_blocks",
    subject="lessons",
    fields=FIELDS,
)
