# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Lines for the person who watches a node."""

from __future__ import annotations

import sys
import threading
import time

from .._errors import shown


class Log:
    """Writes lines as nodes of ROS 2 do, to the standard error. Any thread may use it."""

    def __init__(self, node: str) -> None:
        """node: name in the lines."""
        self._node = node
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}

    def __call__(self, level: str, text: str) -> None:
        """level: INFO, WARN or ERROR. Texts of others may be in it: control characters are removed."""
        now = time.time()
        with self._lock:
            print(f"[{level}] [{now:.9f}] [{self._node}]: {shown(text)}", file=sys.stderr, flush=True)

    def every(self, seconds: float, key: str, level: str, text: str) -> None:
        """As a call, but at most once in so many seconds for the key."""
        now = time.monotonic()
        with self._lock:
            if now - self._said.get(key, float("-inf")) < seconds:
                return
            self._said[key] = now
        self(level, text)
