# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Results of an experiment: printed, and left in docs/data/NAME.json for the pages that show them.

The file has
  "command"    how to make it again
  "machine"    {name: text}, only where times were measured
  "values"     all that was measured, unrounded
  "tables"     {name: {"columns": [text], "rows": [[text]]}}
  "sentences"  {name: text}
  "plots"      {name: what line_plot() draws}
Pages contain tables, sentences and plots literally, behind marks that name them (pages.py). Programs in
other languages may write the same form.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from line_plot import line_plot  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def json_text(value, indent: str = "") -> str:
    """JSON whose lists and objects stand on one line where they fit."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(indent) + len(line) <= 160 or not isinstance(value, dict | list) or not value:
        return line
    deeper = indent + " "
    if isinstance(value, list):
        if not any(isinstance(v, dict | list) for v in value):
            return line
        parts, brackets = [json_text(v, deeper) for v in value], "[]"
    else:
        parts = [f"{json.dumps(str(k), ensure_ascii=False)}: {json_text(v, deeper)}" for k, v in value.items()]
        brackets = "{}"
    return f"{brackets[0]}\n{deeper}" + f",\n{deeper}".join(parts) + f"\n{indent}{brackets[1]}"


def table_lines(table: dict) -> list[str]:
    """A table in Markdown."""
    rows = [table["columns"]] + table["rows"]
    for row in rows:
        if len(row) != len(table["columns"]):
            raise ValueError(f"a row of {len(row)} cells in a table of {len(table['columns'])} columns: {row}")
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(table["columns"]), *lines[1:]]


class Report:
    """Collects the results of one experiment."""

    def __init__(self, name: str, command: str):
        self.name = name
        self.content: dict = {"command": command, "values": {}, "tables": {}, "sentences": {}, "plots": {}}

    def machine(self, facts: dict[str, str]) -> None:
        self.content["machine"] = facts

    def values(self, name: str, values) -> None:
        self.content["values"][name] = values

    def table(self, name: str, columns: list[str], rows: list[list[str]]) -> None:
        self.content["tables"][name] = {"columns": columns, "rows": rows}
        print(f"\n{name}")
        widths = [max(len(row[i]) for row in [columns] + rows) for i in range(len(columns))]
        for row in [columns] + rows:
            print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def sentence(self, name: str, text: str) -> None:
        self.content["sentences"][name] = text
        print(f"\n{name}: {text}")

    def plot(self, name: str, **plot) -> None:
        self.content["plots"][name] = plot

    def write(self, docs: pathlib.Path = DOCS) -> None:
        """Writes the JSON file and the plots."""
        (docs / "data").mkdir(parents=True, exist_ok=True)
        (docs / "plots").mkdir(exist_ok=True)
        target = docs / "data" / f"{self.name}.json"
        target.write_text(json_text(self.content) + "\n")
        for name, plot in self.content["plots"].items():
            (docs / "plots" / f"{self.name}_{name}.svg").write_text(line_plot(plot))
        print(f"\n{target}")
