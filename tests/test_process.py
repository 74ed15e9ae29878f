"""A process keeps what its tensors free: the same size again costs no fresh pages."""

import os
import subprocess
import sys

import pytest

ASK_AGAIN = """
import resource, sys
import torch
from transformer_core.process import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
for _ in range(16):
    torch.ones(12_000_000) * 2
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(12_000_000) * 2
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has these settings")
@pytest.mark.full
def test_freed_memory_is_used_again():
    fresh, kept = (
        int(subprocess.run([sys.executable, "-c", ASK_AGAIN, how], capture_output=True, check=True, text=True).stdout)
        for how in ("leave", "keep")
    )
    assert fresh > 100, "pages of 5 x 48 MB, which may be large ones"
    assert kept < fresh / 10


WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")

LEFT_ALONE = """
import os
before = dict(os.environ)
import transformer_core as tc
tc.presets.tiny(20), tc.load, tc.capture
assert dict(os.environ) == before, {name for name in os.environ if os.environ[name] != before.get(name)}
"""


def test_importing_the_library_leaves_the_environment_alone():
    without = {name: value for name, value in os.environ.items() if name not in WAITING}
    subprocess.run([sys.executable, "-c", LEFT_ALONE], check=True, env=without)


IN_COMMANDS = "import sys; sys.argv = ['headlight', '--help']; import headlight.cli.__main__"


@pytest.mark.parametrize(
    "run, settings, expected",
    [
        (IN_COMMANDS, {}, "PASSIVE 3000"),
        (IN_COMMANDS, {"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE None"),
        (IN_COMMANDS, {"GOMP_SPINCOUNT": "0"}, "PASSIVE 0"),
        ("import app", {}, "PASSIVE None"),
        ("import app", {"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE None"),
    ],
)
def test_threads_sleep_unless_told_otherwise_in_commands_after_a_while(
    run: str, settings: dict[str, str], expected: str
):
    environment = {name: value for name, value in os.environ.items() if name not in WAITING} | settings
    code = f"import atexit, os; atexit.register(lambda: print(*(os.environ.get(name) for name in {WAITING}))); {run}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, text=True)
    assert " ".join(ended.stdout.split()[-2:]) == expected, ended.stderr
