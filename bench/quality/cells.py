# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Results that outlive a run: one JSON file for each, so that an interrupted run goes on where it was."""

import hashlib
import json
import pathlib
import sys
import time
from collections.abc import Callable


class Cells:
    """Cells below one folder. A cell is computed anew when what it depends on has changed."""

    def __init__(self, folder: pathlib.Path, total: int):
        self.folder, self.total = folder, total
        self.done = self.computed = 0
        self.began = self.shown = time.monotonic()

    def get(self, name: str, depends_on, compute: Callable[[], dict]) -> dict:
        """`depends_on`: anything that JSON can write."""
        identity = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()
        file = self.folder / f"{name}.json"
        cell = json.loads(file.read_text()) if file.exists() else {}
        if cell.get("identity") != identity:
            cell = {"identity": identity, "result": json.loads(json.dumps(compute()))}
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(".part")
            partial.write_text(json.dumps(cell))
            partial.rename(file)
            self.computed += 1
        self.done += 1
        self.progress(name)
        return cell["result"]

    def progress(self, name: str) -> None:
        """A line on standard error: on a terminal always, elsewhere every ten seconds and at the end."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if not terminal and now - self.shown < 10 and self.done < self.total:
            return
        self.shown = now
        line = f"{self.done} of {self.total} cells, {self.computed} computed, {now - self.began:.0f} s: {name}"
        print(f"\r\x1b[K{line}" if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)
        if terminal and self.done == self.total:
            print(file=sys.stderr)
