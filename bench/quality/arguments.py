# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The options that the commands of bench/quality/ and bench/papers/ share."""

import argparse
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Parser(argparse.ArgumentParser):
    """--data FOLDER, --build FOLDER and, if `cache` names a folder below the build, --cache FOLDER.

    Results: `data`, `build` and `cache` are absolute paths, and `programs` has a path for each of the given names.
    Folders and programs that do not exist are wrong usage.
    """

    def __init__(self, doc: str, programs: list[str], cache: str = ""):
        super().__init__(description=doc.splitlines()[0])
        self.programs = programs
        self.add_argument("--data", type=pathlib.Path, required=True, help="folder of the image sets")
        self.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder of the build")
        if cache:
            self.add_argument("--cache", type=pathlib.Path, default=ROOT / "build" / cache, help="folder for resuming")

    def parse_args(self, args=None, namespace=None):
        options = super().parse_args(args, namespace)
        for name in ("data", "build", "cache"):
            if name in options:
                setattr(options, name, getattr(options, name).resolve())
        if not options.data.is_dir():
            self.error(f"--data {options.data} is no folder")
        options.programs = {name: (options.build / "bin" / name).resolve() for name in self.programs}
        for program in options.programs.values():
            if not program.is_file():
                self.error(f"{program} is missing: build it, or name the folder of a build with --build")
        return options
