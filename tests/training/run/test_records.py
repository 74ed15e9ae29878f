"""A file of records: appended to, read meanwhile, rewound to a step, and reported if it is damaged."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.errors import RunError
from transformer_core.training.run import records
from transformer_core.training.run.records import RecordFile


@pytest.fixture
def file(tmp_path: Path) -> RecordFile:
    return RecordFile(tmp_path / "records.jsonl")


def test_a_torn_line_is_left_out_and_only_new_lines_are_parsed(file: RecordFile, monkeypatch: pytest.MonkeyPatch):
    parsed: list[bytes] = []

    def loads(line: bytes) -> Any:
        parsed.append(line)
        return json.loads(line)

    monkeypatch.setattr(records, "json", SimpleNamespace(loads=loads, dumps=json.dumps))
    whole = b"".join(b'{"step":%d,"loss":%d}\n' % (step, step * 7) for step in range(9))
    for n_bytes in range(len(whole) + 1):
        file.path.write_bytes(whole[:n_bytes])
        assert file.read() == independent(file)
    assert len(parsed) == 9


def test_a_number_that_json_does_not_know_is_refused(file: RecordFile):
    with pytest.raises(ValueError, match="not JSON compliant"):
        file.append({"step": 4, "loss": float("nan")})


@pytest.mark.parametrize("line", [b"{", b"[1]", b'{"step": "1"}', b"\xff", b'{"step":' + b"9" * 30 + b"}"])
def test_a_damaged_line_is_told_and_nothing_is_thrown_away(file: RecordFile, line: bytes):
    content = b'{"step":1}\n' + line + b'\n{"step":2}\n'
    file.path.write_bytes(content)
    for use in (file.read, lambda: file.rewind(step=1)):
        with pytest.raises(RunError, match=r"records\.jsonl is damaged .* move it elsewhere"):
            use()
    assert file.path.read_bytes() == content


def test_what_is_no_file_is_told_and_never_waited_for(file: RecordFile):
    os.mkfifo(file.path)
    with pytest.raises(RunError, match="is not a file"):
        file.read()


def independent(file: RecordFile) -> list[dict[str, Any]]:
    """What the file holds, read again, from its beginning."""
    with open(file.path, encoding="utf-8") as handle:
        return [json.loads(line) for line in handle if line.endswith("\n")]


@given(st.lists(st.tuples(st.sampled_from(["append", "tear", "rewind", "replace", "delete"]), st.integers(0, 9))))
def test_whatever_happens_to_the_file_a_viewer_reads_what_it_holds(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]
):
    """One file that is written by others, and one that watches it: what it returns is what the file holds."""
    viewer = RecordFile(tmp_path_factory.mktemp("records") / "records.jsonl")
    viewer.path.touch()
    for i, (act, n) in enumerate(acts):
        writer, records = RecordFile(viewer.path), independent(viewer) if viewer.path.exists() else []
        writer.rewind(step=99)  # what was torn goes, as when a run continues
        if act == "append":
            step = records[-1]["step"] + 1 if records else 0  # they only rise
            for _ in range(n):
                writer.append({"step": step, "loss": i})
        elif act == "tear":
            with viewer.path.open("a") as handle:
                handle.write('{"step": 9'[: n + 1])
        elif act == "rewind":
            writer.rewind(step=n)
            writer.append({"step": n + 1, "loss": i})
        elif act == "replace":
            new = viewer.path.with_suffix(".new")
            new.write_text("".join(json.dumps({"step": step, "loss": i}) + "\n" for step in range(n)))
            new.replace(viewer.path)
        else:
            viewer.path.unlink(missing_ok=True)
            assert viewer.read() == []
            viewer.path.touch()
        assert viewer.read() == independent(viewer)


def test_a_file_that_took_the_place_of_another_is_read_whole_though_its_inode_and_its_last_line_are_the_same(
    file: RecordFile,
):
    for loss in (0.5, 0.7):
        lines = [{"step": 1, "loss": loss}, {"step": 2, "loss": 0.125}]
        inode = file.path.stat().st_ino if file.path.exists() else None
        file.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert inode in (None, file.path.stat().st_ino)
        assert file.read() == independent(file)
