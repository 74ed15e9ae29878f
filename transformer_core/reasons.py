"""Why something failed, as the system and other libraries say it: in English, of which the commonest is known here."""

from transformer_core.language import mark, say_again

KNOWN = (
    # of the system, on a folder or a file
    mark("Permission denied"),
    mark("No such file or directory"),
    mark("No space left on device"),
    mark("Disk quota exceeded"),
    mark("Read-only file system"),
    mark("Operation not permitted"),
    mark("Is a directory"),
    mark("Not a directory"),
    mark("Directory not empty"),
    mark("File exists"),
    mark("File name too long"),
    mark("File too large"),
    mark("Input/output error"),
    mark("Invalid argument"),
    mark("Too many open files"),
    mark("Too many levels of symbolic links"),
    mark("Device or resource busy"),
    mark("Cannot allocate memory"),
    # of a text that is not JSON
    mark("{what}: line {line} column {column} (char {place})"),
    mark("Expecting value"),
    mark("Expecting property name enclosed in double quotes"),
    mark("Expecting ':' delimiter"),
    mark("Expecting ',' delimiter"),
    mark("Extra data"),
    mark("Unterminated string starting at"),
    mark("Invalid control character at"),
    mark("Invalid \\escape"),
    mark("Invalid \\uXXXX escape"),
    mark("Illegal trailing comma before end of object"),
    mark("Illegal trailing comma before end of array"),
    mark("maximum recursion depth exceeded while decoding a JSON array from a unicode string"),
    mark("maximum recursion depth exceeded while decoding a JSON object from a unicode string"),
    # of bytes that are not UTF-8
    mark("'{codec}' codec can't decode byte {byte} in position {place}: {why}"),
    mark("'{codec}' codec can't decode bytes in position {places}: {why}"),
    mark("invalid start byte"),
    mark("invalid continuation byte"),
    mark("unexpected end of data"),
    # of a safetensors file
    mark("Error while deserializing header: {why}"),
    mark("header too small"),
    mark("header too large"),
    mark("invalid header length"),
    mark("incomplete metadata, file not fully covered"),
    mark("invalid shape, data type, or offset for tensor"),
    mark("invalid offset for tensor `{name}`"),
    mark("invalid JSON in header: {why}"),
    mark("invalid UTF-8 in header: {why}"),
    mark("{what} at line {line} column {column}"),
    mark("expected value"),
    mark("EOF while parsing a value"),
    mark("EOF while parsing a string"),
    mark("EOF while parsing an object"),
    mark("EOF while parsing a list"),
    # of a zip file
    mark("File is not a zip file"),
    mark("Bad CRC-32 for file '{name}'"),
    mark("Bad magic number for file header"),
    mark("Bad magic number for central directory"),
    mark("Bad offset for central directory"),
    mark("Truncated file header"),
    mark("Error {number} while decompressing data: {why}"),
    mark("invalid block type"),
    mark("invalid distance too far back"),
    mark("incorrect data check"),
)


def reason(told: object) -> str:
    """Return what the system or a library told, in the reader's language where that is known, else as it is.

    Args:
        told: an error, or its words; of the system's errors only what is wrong, since the sentence names the file.
    """
    words = told.strerror if isinstance(told, OSError) else ""
    return say_again(words or str(told))
