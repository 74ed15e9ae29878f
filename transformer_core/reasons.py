"""Messages for errors of the system and of other libraries: English text, with a translation if it is common.

Translated texts without values are the entries of languages/de/reasons.po; those with values are listed here.
"""

import re
from typing import Any

from transformer_core.errors import Message

WITH_VALUES = (
    Message("{what}: line {line} column {column} (char {place})"),
    Message("'{codec}' codec can't decode byte {byte} in position {place}: {why}"),
    Message("'{codec}' codec can't decode bytes in position {places}: {why}"),
    Message("Error while deserializing header: {why}"),
    Message("invalid offset for tensor `{name}`"),
    Message("invalid JSON in header: {why}"),
    Message("invalid UTF-8 in header: {why}"),
    Message("{what} at line {line} column {column}"),
    Message("Bad CRC-32 for file '{name}'"),
    Message("Error {number} while decompressing data: {why}"),
)
_PATTERNS = [
    (known, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(known.template)))) for known in WITH_VALUES
]


def reason(cause: BaseException | str) -> Message:
    """Return an error's own text as a message; for a system error, omit the file, which the caller's message names."""
    if isinstance(cause, BaseException) and cause.args and isinstance(cause.args[0], Message):
        return cause.args[0]
    return _known((cause.strerror if isinstance(cause, OSError) else "") or str(cause) or type(cause).__name__)


def _known(words: str) -> Message:
    for message, pattern in _PATTERNS:
        if match := pattern.fullmatch(words):
            parts: dict[str, Any] = match.groupdict()
            return Message(message, **parts | {name: _known(parts[name]) for name in ("what", "why") if name in parts})
    return Message(words)
