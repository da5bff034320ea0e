"""The tools of the load, and what they note of their runs, outside of the journal."""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
import time
from collections.abc import Iterable

# Each run notes its arguments before and after the time that it takes, of 50 to 290 ms. A node that
# is killed between the start of the program and its arguments leaves a run that does nothing.
#
# With them it notes when its program was started, which is field 22 of `stat`. The note itself may
# come late, as when the node is stopped before it gives the arguments.
TOOL = """\
[[tool]]
name = "{name}"
description = "{name}"
command = ["sh", "-c", '''
args=$(cat)
[ -n "$args" ] || exit 1
read -r stat </proc/$$/stat
set -- $stat
echo "begin ${{22}} $args" >>"{witness}"
sleep 0.$(printf %02d $(($$ % 25 + 5)))
echo "end $args" >>"{witness}"
echo "$args"
''']
parameters = '{{"type": "object"}}'
"""

# The further lines of each tool. Without `in_doubt`, what was cut off is never run again.
TOOLS = {
    # Gated, and not repeatable.
    "pay": 'confirm = "Pay this order?"\n',
    # The same, for those who watch how long it takes.
    "sign": 'confirm = "Sign this order?"\n',
    # Not repeatable.
    "charge": "",
    "step": "",
    # A person decides about a run that was cut off.
    "check": 'in_doubt = "ask"\n',
    # Repeatable.
    "pack": 'in_doubt = "retry"\n',
}

# Those that may run twice only if a person said so.
NOT_REPEATABLE = ("pay", "sign", "charge", "step", "check", "haul")


def tools_file(witness: pathlib.Path, names: Iterable[str]) -> str:
    """Returns the file with some of the tools."""
    return "".join(TOOL.format(name=it, witness=witness) + TOOLS[it] for it in names)


# In place of the time of a run that no node started.
UNTIMED = "-"

# The resolution of the times at which programs were started, in seconds.
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def booted() -> float:
    """Returns the time of the machine's start, as its clock has it now."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclasses.dataclass
class Witness:
    """The number of runs that began and that ended, by order."""

    begun: collections.Counter[str]
    ended: collections.Counter[str]
    times: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    """When nodes started the programs of runs that began, in seconds since 1970, by order."""

    @classmethod
    def read(cls, path: pathlib.Path) -> Witness:
        """Reads the notes of all runs."""
        seen, start = cls(collections.Counter(), collections.Counter()), booted()
        for line in path.read_text().splitlines():
            word, _, args = line.partition(" ")
            order = args.partition('"order":"')[2].partition('"')[0]
            assert order, f"an unreadable note: {line}"
            (seen.begun if word == "begin" else seen.ended)[order] += 1
            ticks = args.partition(" ")[0]
            if word == "begin" and ticks != UNTIMED:
                seen.times.setdefault(order, []).append(start + int(ticks) * TICK_S)
        return seen
