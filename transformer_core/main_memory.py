"""The main memory available to this process, in total and free; does not import torch."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_GROUP_FILES = {  # control groups of version 2 and 1: folder, limit, usage, and its reclaimable part
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def main_memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Return the main memory in bytes, limited on Linux by the process's control groups (containers).

    None if unknown.
    """
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return None
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([there, *(limit for limit, _ in _control_groups(proc, cgroups))])


def free_main_memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Return the free main memory in bytes, limited on Linux by what the control groups (containers) leave.

    On other systems, this is the total main memory; None if unknown.
    """
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        (available,) = (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError):
        return main_memory(proc, cgroups)
    return min([available, *(left for _, left in _control_groups(proc, cgroups))])


def _control_groups(proc: Path, cgroups: Path) -> Iterator[tuple[int, int]]:
    """Yield the limit and the free memory, in bytes, of each control group of this process that has a limit."""
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers not in _GROUP_FILES:
            continue
        root, limit_file, used_file, reclaimable = _GROUP_FILES[controllers]
        group = cgroups / root / path.strip("/")
        for place in (group, *group.parents):
            with suppress(OSError, ValueError):  # no such group here, or no limit: "max"
                limit = left = int((place / limit_file).read_text())
                with suppress(KeyError, OSError, ValueError):
                    stat = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
                    left = max(0, limit - int((place / used_file).read_text()) + int(stat[reclaimable]))
                yield limit, left
