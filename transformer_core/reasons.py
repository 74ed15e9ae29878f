"""Error texts of the system and of other libraries; the common ones are listed here, so that they are translated."""

import re
from typing import Any

from transformer_core.errors import Message

KNOWN = (
    # of the system, on a folder or a file
    Message("Permission denied"),
    Message("No such file or directory"),
    Message("No space left on device"),
    Message("Disk quota exceeded"),
    Message("Read-only file system"),
    Message("Operation not permitted"),
    Message("Is a directory"),
    Message("Not a directory"),
    Message("Directory not empty"),
    Message("File exists"),
    Message("File name too long"),
    Message("File too large"),
    Message("Input/output error"),
    Message("Invalid argument"),
    Message("Too many open files"),
    Message("Too many levels of symbolic links"),
    Message("Device or resource busy"),
    Message("Cannot allocate memory"),
    # of a text that is not JSON
    Message("{what}: line {line} column {column} (char {place})"),
    Message("Expecting value"),
    Message("Expecting property name enclosed in double quotes"),
    Message("Expecting ':' delimiter"),
    Message("Expecting ',' delimiter"),
    Message("Extra data"),
    Message("Unterminated string starting at"),
    Message("Invalid control character at"),
    Message("Invalid \\escape"),
    Message("Invalid \\uXXXX escape"),
    Message("Illegal trailing comma before end of object"),
    Message("Illegal trailing comma before end of array"),
    Message("maximum recursion depth exceeded while decoding a JSON array from a unicode string"),
    Message("maximum recursion depth exceeded while decoding a JSON object from a unicode string"),
    # of bytes that are not UTF-8
    Message("'{codec}' codec can't decode byte {byte} in position {place}: {why}"),
    Message("'{codec}' codec can't decode bytes in position {places}: {why}"),
    Message("invalid start byte"),
    Message("invalid continuation byte"),
    Message("unexpected end of data"),
    # of a safetensors file
    Message("Error while deserializing header: {why}"),
    Message("header too small"),
    Message("header too large"),
    Message("invalid header length"),
    Message("incomplete metadata, file not fully covered"),
    Message("invalid shape, data type, or offset for tensor"),
    Message("invalid offset for tensor `{name}`"),
    Message("invalid JSON in header: {why}"),
    Message("invalid UTF-8 in header: {why}"),
    Message("{what} at line {line} column {column}"),
    Message("expected value"),
    Message("EOF while parsing a value"),
    Message("EOF while parsing a string"),
    Message("EOF while parsing an object"),
    Message("EOF while parsing a list"),
    # of a zip file
    Message("File is not a zip file"),
    Message("Bad CRC-32 for file '{name}'"),
    Message("Bad magic number for file header"),
    Message("Bad magic number for central directory"),
    Message("Bad offset for central directory"),
    Message("Truncated file header"),
    Message("Error {number} while decompressing data: {why}"),
    Message("invalid block type"),
    Message("invalid distance too far back"),
    Message("incorrect data check"),
)


_WITH_VALUES = [
    (known, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(known.template))))
    for known in KNOWN
    if "{" in known.template
]


def reason(cause: BaseException | str) -> Message:
    """Return the text of an error as a message, translatable if it is listed.

    Args:
        cause: an error or its text; of an OSError only the reason is used, without the file name.
    """
    if isinstance(cause, BaseException) and cause.args and isinstance(cause.args[0], Message):
        return cause.args[0]
    return _known((cause.strerror if isinstance(cause, OSError) else "") or str(cause) or type(cause).__name__)


def _known(words: str) -> Message:
    for message, pattern in _WITH_VALUES:
        if match := pattern.fullmatch(words):
            parts: dict[str, Any] = match.groupdict()
            return Message(message, **parts | {name: _known(parts[name]) for name in ("what", "why") if name in parts})
    return Message(words)
