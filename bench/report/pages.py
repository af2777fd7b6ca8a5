#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Compares pages with the results in docs/data/, or brings them up to date.

  bench/report/pages.py [--docs FOLDER]            fails where a page or a plot differs
  bench/report/pages.py --write [--docs FOLDER]    replaces what differs
  bench/report/pages.py --show NAME                prints all tables and sentences of docs/data/NAME.json

A page contains a block behind a line like one of these, and the block ends at the next empty line:

  <!-- quality.json: table homography -->
  <!-- quality.json: table homography with graf|wall -->
  <!-- quality.json: sentence equal -->
  <!-- quality.json: plot accuracy -->

The second shows only the rows whose first cell matches the regular expression. A page that shows results of a file also
has the command that makes the file. Every file of docs/data/ and every plot of docs/plots/ must be used.
Exit codes: 0 all agree, 1 something differs, 2 wrong usage.
"""

import argparse
import json
import pathlib
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from line_plot import line_plot  # noqa: E402
from report import DOCS, table_lines  # noqa: E402

MARK = re.compile(r"<!-- ([\w-]+)\.json: (table|sentence|plot) ([\w-]+)(?: with (.+))? -->")
COLUMNS = 100  # of the prose of a page


class Results:
    """The files of docs/data/, read once."""

    def __init__(self, docs: pathlib.Path):
        self.files = {p.stem: json.loads(p.read_text()) for p in sorted((docs / "data").glob("*.json"))}

    def block(self, file: str, kind: str, name: str, rows: str | None = None) -> list[str]:
        """Lines that a page must have behind its mark. KeyError: there is no such result, or no row that matches `rows`."""
        content = self.files[file]
        if kind == "table":
            table = content["tables"][name]
            if rows is None:
                return table_lines(table)
            wanted = [row for row in table["rows"] if re.search(rows, row[0])]
            if not wanted:
                raise KeyError(rows)
            return table_lines({**table, "rows": wanted})
        if rows is not None:
            raise KeyError(rows)
        if kind == "sentence":
            return textwrap.wrap(content["sentences"][name], COLUMNS, break_long_words=False, break_on_hyphens=False)
        return [f"![{content['plots'][name]['title']}](plots/{file}_{name}.svg)"]


def check_page(page: pathlib.Path, results: Results, write: bool) -> tuple[list[str], set[str]]:
    """Errors of a page, and the files of results that it uses."""
    errors: list[str] = []
    used: set[str] = set()
    lines = page.read_text().split("\n")
    out: list[str] = []
    i = 0
    while i < len(lines):
        out.append(lines[i])
        if "<!--" in lines[i] and ".json" in lines[i] and not MARK.fullmatch(lines[i]):
            errors.append(f"{page.name}:{i + 1}: not a mark of a result: {lines[i]}")
        mark = MARK.fullmatch(lines[i])
        i += 1
        if not mark:
            continue
        end = i
        while end < len(lines) and lines[end]:
            end += 1
        try:
            wanted = results.block(*mark.groups())
        except KeyError:
            rows = f" with {mark[4]}" if mark[4] else ""
            errors.append(f"{page.name}:{i}: docs/data/{mark[1]}.json has no {mark[2]} {mark[3]}{rows}")
            continue
        used.add(mark[1])
        for number, line in enumerate(wanted):
            found = lines[i + number] if i + number < end else ""
            if found != line:
                errors.append(f"{page.name}:{i + number + 1}: '{found}' where {mark[1]}.json has '{line}'")
                break
        else:
            if end - i != len(wanted):
                errors.append(f"{page.name}:{i + len(wanted) + 1}: more lines than {mark[1]}.json has")
        out += wanted
        i = end
    text = "\n".join(out)
    for file in sorted(used):
        if results.files[file]["command"] not in text:
            errors.append(f"{page.name}: does not name the command of {file}.json: {results.files[file]['command']}")
    if write and text != page.read_text():
        page.write_text(text)
    return errors, used


def check_plots(docs: pathlib.Path, results: Results, write: bool) -> list[str]:
    errors = []
    wanted = {
        f"{file}_{name}.svg": line_plot(plot)
        for file, content in results.files.items()
        for name, plot in content.get("plots", {}).items()
    }
    found = {p.name: p for p in (docs / "plots").glob("*.svg")}
    for name, text in wanted.items():
        if name not in found or found[name].read_text() != text:
            errors.append(f"plots/{name} is not what docs/data/ says")
            if write:
                (docs / "plots").mkdir(exist_ok=True)
                (docs / "plots" / name).write_text(text)
    errors += [f"plots/{name}: no file of docs/data/ has this plot" for name in sorted(found) if name not in wanted]
    return errors


def check(docs: pathlib.Path, write: bool = False) -> list[str]:
    """All differences between the pages and the results."""
    results = Results(docs)
    errors: list[str] = []
    used: set[str] = set()
    for page in sorted(docs.glob("*.md")):
        page_errors, page_used = check_page(page, results, write)
        errors += page_errors
        used |= page_used
    errors += check_plots(docs, results, write)
    errors += [f"data/{file}.json: no page shows it" for file in results.files if file not in used]
    return errors


def show(docs: pathlib.Path, file: str) -> int:
    """Prints a file of results; the exit code."""
    files = Results(docs).files
    if file not in files:
        print(f"docs/data/ has no {file}.json; it has {', '.join(files)}", file=sys.stderr)
        return 2
    content = files[file]
    print(content["command"])
    for name, fact in content.get("machine", {}).items():
        print(f"{name}: {fact}")
    for name, table in content["tables"].items():
        print(f"\n{name}\n\n" + "\n".join(table_lines(table)))
    for name, sentence in content.get("sentences", {}).items():
        print(f"\n{name}: {sentence}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares pages with the results in docs/data/")
    parser.add_argument("--docs", type=pathlib.Path, default=DOCS, help="folder of the pages")
    parser.add_argument("--write", action="store_true", help="replace what differs")
    parser.add_argument("--show", metavar="NAME", help="print all tables and sentences of a file")
    options = parser.parse_args()
    if options.show:
        return show(options.docs, options.show)
    errors = check(options.docs, options.write)
    if options.write:
        errors = check(options.docs)
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
