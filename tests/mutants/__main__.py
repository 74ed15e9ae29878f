"""Plant faults one at a time in a copy of the project, and run the tests that should catch each.

`make mutants` runs it before a release. The TOML files of this folder list the faults: `file` and the text `old`, which
occur once in it and become `new`, and `tests`, the files that should fail then.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).parent
LONGEST = 600.0  # seconds that the tests of one fault may take; a fault that hangs them is caught, too


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A mistake in one file, and the test files that should fail with it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    area: str

    def planted(self, source: str) -> str:
        """Return the source with this fault.

        Raises:
            ValueError: `old` does not occur exactly once, or `new` is the same.
        """
        if self.old == self.new or source.count(self.old) != 1:
            raise ValueError(f"{self.name}: `old` occurs {source.count(self.old)} times in {self.file}, not once")
        return source.replace(self.old, self.new)


def faults(folder: Path = LISTS) -> list[Fault]:
    """Return all listed faults, by file name and in the order of the list.

    Raises:
        ValueError: two faults have one name.
    """
    listed = [
        Fault(**{**entry, "tests": tuple(entry["tests"])}, area=path.stem)
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    ]
    names = [fault.name for fault in listed]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"names that occur twice: {', '.join(sorted(doubled))}")
    return listed


def copy_tree(target: Path) -> None:
    """Copy what git tracks, as it is in the working tree, and link what is installed."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in (".venv", "node_modules"):
        (target / name).symlink_to((ROOT / name).resolve())


def run_tests(place: Path, tests: Sequence[str], *, is_sound: bool = False) -> bool:
    """Return True if all these test files pass in a copy of the project; where they should, print what does not."""
    scripts = [name for name in tests if name.endswith(".js")]
    modules = [name for name in tests if not name.endswith(".js")]
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    commands = [[str(ROOT / ".venv/bin/node"), "--test", *scripts]] if scripts else []
    commands += [[*pytest, *modules]] if modules else []
    settings = {
        "CI": "true",
        "OMP_NUM_THREADS": "1",
        "HEADLIGHT_DATA": os.environ.get("HEADLIGHT_DATA", str(ROOT.parent / "shared" / "data")),
    }
    for command in commands:
        try:
            done = subprocess.run(command, cwd=place, env=os.environ | settings, capture_output=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return False
        if command[0] == sys.executable and done.returncode not in (
            0,
            1,
        ):  # neither passed nor failed: no such file ...
            raise RuntimeError(f"{' '.join(tests)} did not run:\n{done.stdout.decode()}{done.stderr.decode()}")
        if done.returncode:
            if is_sound:
                print(*done.stdout.decode().splitlines()[-12:], sep="\n")
            return False
    return True


@contextmanager
def planted(place: Path, fault: Fault) -> Iterator[None]:
    """Hold a fault in a copy of the project while the block runs."""
    path = place / fault.file
    source = path.read_text(encoding="utf-8")
    path.write_text(fault.planted(source), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(source, encoding="utf-8")


def verdict(place: Path, fault: Fault, passes: Callable[[Path, Sequence[str]], bool] = run_tests) -> str:
    """Return the result for a fault: "caught", "survived", or why it could not be tried."""
    try:
        with planted(place, fault):
            return "survived" if passes(place, fault.tests) else "caught"
    except (OSError, ValueError, RuntimeError) as error:
        return f"not tried: {error}"


def main() -> int:
    """Plant the chosen faults; return 1 if one is not caught, or if the tests fail without any."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--area", action="append", help="only the faults of this list; may be given several times")
    parser.add_argument("--name", action="append", help="only this fault; may be given several times")
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at once, each in a separate copy")
    parser.add_argument("--plant-at-once", action="store_true", help="do not run the tests without faults first")
    parser.add_argument("--list", action="store_true", help="print the faults, and try none")
    chosen = parser.parse_args()
    listed = [
        fault
        for fault in faults()
        if (not chosen.area or fault.area in chosen.area) and (not chosen.name or fault.name in chosen.name)
    ]
    if chosen.list:
        for fault in listed:
            print(f"{fault.area}/{fault.name}: {fault.file} ({', '.join(fault.tests)})")
        return 0
    with TemporaryDirectory(prefix="mutants-") as folder:
        places: Queue[Path] = Queue()
        for number in range(chosen.jobs):
            copy_tree(place := Path(folder, str(number)))
            places.put(place)

        def in_a_copy(work: Callable[[Path], str], name: str) -> str:
            place, started = places.get(), time.monotonic()
            try:
                answer = work(place)
            finally:
                places.put(place)
            print(f"{answer:10} {time.monotonic() - started:5.0f} s  {name}", flush=True)
            return answer

        needed = [] if chosen.plant_at_once else sorted({name for fault in listed for name in fault.tests})
        with ThreadPoolExecutor(chosen.jobs) as pool:  # a test that fails without a fault catches nothing
            sound = list(
                pool.map(
                    lambda tests: in_a_copy(
                        lambda place: "passes" if run_tests(place, tests, is_sound=True) else "fails",
                        ", ".join(tests[:3]) + " ...",
                    ),
                    [needed[start :: chosen.jobs] for start in range(min(chosen.jobs, len(needed)))],
                )
            )
            if "fails" in sound:
                print("The tests fail without any fault; nothing was planted.")
                return 1
            answers = list(
                pool.map(
                    lambda fault: in_a_copy(lambda place: verdict(place, fault), f"{fault.area}/{fault.name}"), listed
                )
            )
    caught = answers.count("caught")
    print(f"{caught} of {len(listed)} faults caught.")
    return 0 if listed and caught == len(listed) else 1


if __name__ == "__main__":
    sys.exit(main())
