"""A file of records: appended to, read while it is written, taken back to a step, and told of where it is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.errors import RunError
from transformer_core.training.metrics import RecordFile


@pytest.fixture
def file(tmp_path: Path) -> RecordFile:
    return RecordFile(tmp_path / "records.jsonl")


def test_what_is_appended_is_read(file: RecordFile):
    assert file.read() == []
    records: list[dict[str, Any]] = [
        {"step": 1, "loss": 0.1 + 0.2},
        {"step": 1, "heads": {"encoder 0.1": [1, None]}},
        {"step": 3},
    ]
    for record in records:
        file.append(record)
    assert file.read() == records
    assert [json.loads(line) for line in file.path.read_text().splitlines()] == records


@given(st.lists(st.integers(0, 20), max_size=8).map(sorted), st.integers(-1, 21), st.integers(0, 30))
def test_taken_back_it_holds_what_was_up_to_that_step(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], step: int, n_torn: int
):
    file = RecordFile(tmp_path_factory.mktemp("records") / "records.jsonl")
    for i, number in enumerate(steps):
        file.append({"step": number, "i": i})
    if n_torn and steps:
        with file.path.open("ab") as handle:
            handle.write(b'{"step": 21, "loss": 0.123456789'[:n_torn])
    file.rewind(step=step)
    expected = [{"step": number, "i": i} for i, number in enumerate(steps) if number <= step]
    assert file.read() == expected
    file.append({"step": 22})
    assert file.read() == [*expected, {"step": 22}]


@pytest.mark.parametrize("line", [b"{", b"[1]", b"7", b"{}", b'{"step": "1"}', b'{"step": null}', b"\xff", b"\x00\x00"])
def test_a_damaged_line_is_told_and_nothing_is_thrown_away(file: RecordFile, line: bytes):
    content = b'{"step":1}\n' + line + b'\n{"step":2}\n'
    file.path.write_bytes(content)
    for use in (file.read, lambda: file.rewind(step=1)):
        with pytest.raises(RunError, match=r"records\.jsonl is damaged .* move it away"):
            use()
    assert file.path.read_bytes() == content


def test_an_empty_file_is_one_without_records(file: RecordFile):
    file.rewind(step=3)
    assert not file.path.exists()
    file.path.touch()
    file.rewind(step=3)
    assert file.read() == []
