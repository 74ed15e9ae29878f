"""Main memory is what a process can really take, in a container too."""

import os
from pathlib import Path

import pytest

from transformer_core.main_memory import free_main_memory, main_memory

MIB = 1 << 20
OF_THE_MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A Linux with 900 MiB to be had, as /proc tells it, in control groups of both versions."""
    write(tmp_path / "proc", {"meminfo": f"MemTotal: 4096000 kB\nMemFree: 1 kB\nMemAvailable: {900 << 10} kB\n"})
    write(tmp_path / "proc/self", {"cgroup": "4:memory:/old/group\n2:cpu:/\n0::/outer/inner\n"})
    return tmp_path


def free(system: Path) -> int | None:
    return free_main_memory(system / "proc", system / "groups")


def group(limit: str, used: int, files: int) -> dict[str, str]:
    return {
        "memory.max": f"{limit}\n",
        "memory.current": f"{used}\n",
        "memory.stat": f"anon 5\ninactive_file {files}\n",
    }


def test_without_limits(system: Path):
    assert free(system) == 900 * MIB
    write(system / "groups/outer/inner", group("max", 5, 5))
    assert free(system) == 900 * MIB


def test_the_tightest_control_group_counts(system: Path):
    write(system / "groups/outer", group(str(500 * MIB), 300 * MIB, 100 * MIB))
    assert free(system) == 300 * MIB  # what is files is given back when asked
    write(system / "groups/outer/inner", group(str(400 * MIB), 380 * MIB, 0))
    assert free(system) == 20 * MIB
    write(system / "groups/outer/inner", group(str(400 * MIB), 500 * MIB, 0))
    assert free(system) == 0


def test_control_groups_of_the_first_version(system: Path):
    """Inside a container the path is that of outside, and the limits lie at the root."""
    limits = {"memory.limit_in_bytes": str(64 * MIB), "memory.usage_in_bytes": str(10 * MIB)}
    write(system / "groups/memory", {**limits, "memory.stat": "cache 9\ntotal_inactive_file 4\n"})
    assert free(system) == 54 * MIB + 4


def test_where_the_system_does_not_say(tmp_path: Path):
    assert free(tmp_path) == OF_THE_MACHINE


def test_all_of_it_is_what_the_machine_has_or_the_tightest_limit(system: Path):
    def whole() -> int | None:
        return main_memory(system / "proc", system / "groups")

    assert whole() == OF_THE_MACHINE
    write(system / "groups/outer/inner", group("max", 5, 5))
    assert whole() == OF_THE_MACHINE
    write(system / "groups/outer", group(str(500 * MIB), 300 * MIB, 100 * MIB))
    assert whole() == 500 * MIB
    write(system / "groups/memory", {"memory.limit_in_bytes": str(64 * MIB)})
    assert whole() == 64 * MIB
