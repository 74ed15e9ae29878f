"""What a German reader reads of a message or an error."""

from headlight.language import add_catalogues, say_message, speaking
from pages.languages import CATALOGUES
from transformer_core.errors import HeadlightError, Message


def in_german(message: Message | HeadlightError) -> str:
    """Return the German words."""
    for folder in CATALOGUES:
        add_catalogues(folder)
    with speaking("de"):
        return say_message(message)
