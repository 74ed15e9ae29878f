"""The machine's main memory, as far as this process may take it: all of it, and what is free; torch is not needed."""

import os
from collections.abc import Iterator
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_GROUP_FILES = {  # of the control groups of version 2 and 1: folder, limit, use, and what of it can be had back
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def main_memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Return how many bytes of main memory the machine has; None where the system does not say.

    On Linux it is no more than the limits of this process's control groups (those of a container too).

    Args:
        proc: where Linux shows its processes.
        cgroups: where it shows its control groups.
    """
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return None
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([there, *(limit for _, limit, *_ in _limits(proc, cgroups))])


def free_main_memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Return how many bytes of main memory this process can still take; None where the system does not say.

    On Linux that is what is available, and no more than what the limits of its control groups leave (those of a
    container too). Elsewhere, where free memory is not told without further libraries, it is all that the machine has.

    Args:
        proc: where Linux shows its processes.
        cgroups: where it shows its control groups.
    """
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        (available,) = (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError):
        return main_memory(proc, cgroups)
    return min([available, *_left_by_control_groups(proc, cgroups)])


def _limits(proc: Path, cgroups: Path) -> Iterator[tuple[Path, int, str, str]]:
    """Yield each control group above this process that has a limit: its folder, the limit, and where its use stands."""
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers not in _GROUP_FILES:
            continue
        root, limit_file, used_file, spare = _GROUP_FILES[controllers]
        group = cgroups / root / path.strip("/")
        for place in (group, *group.parents):
            try:
                limit = int((place / limit_file).read_text())
            except (OSError, ValueError):  # no such group here, or no limit: "max"
                continue
            yield place, limit, used_file, spare


def _left_by_control_groups(proc: Path, cgroups: Path) -> Iterator[int]:
    """Yield the bytes that each control group above this process leaves, where it sets a limit."""
    for place, limit, used_file, spare in _limits(proc, cgroups):
        try:
            used = int((place / used_file).read_text())
            kept = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
            yield max(0, limit - used + int(kept[spare]))  # files in memory make room when asked
        except (KeyError, OSError, ValueError):
            continue
