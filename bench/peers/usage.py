"""What processes and folders take, counted by the system itself: no library is needed for it."""

import os
import re
from pathlib import Path

_MEGA = 1024 * 1024


def tree(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def memory_mb(*pids: int) -> float:
    """Return the proportional share of all processes below: memory that several of them share counts once."""
    total = 0
    for pid in {each for top in pids for each in tree(top)}:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += int(re.search(r"^Pss:\s+(\d+)", told, re.MULTILINE)[1])
    return total / 1024


def disk_mb(folder: Path) -> float:
    files = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return sum(file.stat().st_blocks * 512 for file in files) / _MEGA
