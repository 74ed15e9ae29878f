"""Items of files behave like a tuple of them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.corpora.corpus import Text
from transformer_core.corpora.storage.file_items import FileItems, as_text
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file

TEXTS = ("one", "zwei Wörter", "три", "四\nand another line", "five")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> FileItems:
    """The texts in two files."""
    folder = tmp_path_factory.mktemp("items")
    files, spans, address = [], [], 0
    for number, texts in enumerate((TEXTS[:2], TEXTS[2:])):
        raws = [text.encode() for text in texts]
        path = folder / f"{number}.txt"
        path.write_bytes(b"|".join(raws))
        files.append(check_text_file(path))
        for raw in raws:
            spans.append((address, address + len(raw)))
            address += len(raw) + 1
        address -= 1
    return FileItems(TextFiles(folder, files), np.array(spans), as_text, fingerprint="all of it")


@given(st.slices(5), st.integers(-5, 4))
@settings(max_examples=30)
def test_some_of_them(items: FileItems, some: slice, one: int):
    expected = tuple(Text(text) for text in TEXTS)
    assert tuple(items) == expected and len(items) == 5
    assert tuple(items[some]) == expected[some]
    assert items[one] == expected[one]
    assert items[some].fingerprint == ""  # it was that of the whole


@pytest.mark.parametrize(
    ("raw", "text"), [(b"a\r\nb\r\n\r\n", "a\nb"), (b"  a\t\n", "  a\t"), ("é\u2028è".encode(), "é\u2028è")]
)
def test_a_text_as_it_is_read(raw: bytes, text: str):
    assert [*as_text(raw)] == [text]


def test_places(items: FileItems):
    assert [Path(items.path_and_line(i)[0]).name for i in (0, 3, 4)] == ["0.txt", "1.txt", "1.txt"]
    assert [items.path_and_line(i)[1] for i in (0, 3, 4)] == [1, 1, 2]
