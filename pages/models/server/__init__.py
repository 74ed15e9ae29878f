"""Server: how is this server doing; what does it keep, what does it train, how fast is it, what went wrong?"""

from pages.shared.page import Page
from transformer_core.errors import mark

PAGE = Page(package=__name__, place=2, title=mark("Server"), icon="monitor_heart", subject="server")
