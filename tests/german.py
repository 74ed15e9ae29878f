"""What a German reader reads of a message or an error."""

from transformer_core.errors import HeadlightError, Message
from transformer_core.language import say_message, speaking


def in_german(message: Message | HeadlightError) -> str:
    """Return the German words."""
    with speaking("de"):
        return say_message(message)
