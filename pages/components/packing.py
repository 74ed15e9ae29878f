"""Arrays on their way to a component: a header's length (uint32, little endian), the header as JSON, then the bytes.

Streamlit hands bytes over as they are only where they are the whole of a component's data; packing.js takes them apart.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any


def packed(header: Mapping[str, Any], values: bytes) -> bytes:
    """Return a header and the values that it describes as one block.

    Args:
        header: what JSON can say; no NaN, which a browser refuses.
        values: as the component reads them.

    Raises:
        ValueError: a number of the header is not finite.
    """
    text = json.dumps(header, allow_nan=False).encode()
    return struct.pack("<I", len(text)) + text + values
