"""What is packed for a component can be taken apart again, as packing.js does it."""

import json
import math
import struct

import pytest

from pages.components.packing import packed


def test_a_header_says_its_own_length():
    header = {"names": ["שלום", "<b>"], "chosen": None, "value": 0.5}
    data = packed(header, b"\x00\xff")
    (length,) = struct.unpack("<I", data[:4])
    assert json.loads(data[4 : 4 + length]) == header
    assert data[4 + length :] == b"\x00\xff"


def test_what_a_browser_cannot_read_is_not_sent():
    with pytest.raises(ValueError, match="JSON compliant"):
        packed({"value": math.nan}, b"")
