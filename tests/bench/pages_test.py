# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The checker of pages finds every way in which a page can differ from the results."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "report"))
from line_plot import line_plot, ticks  # noqa: E402
from pages import check, show  # noqa: E402
from report import Report  # noqa: E402

PAGE = """# A page

Made by `bench/speed --all`.

<!-- speed.json: table times -->
| size | time |
|---|---|
| 640×480 | 0.25 ms |

<!-- speed.json: sentence gain -->
Twice as fast.

<!-- speed.json: plot curve -->
![Time over size](plots/speed_curve.svg)

The end.
"""


def plot() -> dict:
    return {
        "title": "Time over size", "x_label": "size", "y_label": "time", "x_range": [0, 10], "y_range": [0, 1],
        "series": [{"label": "ours & <theirs>", "x": [0, 5, 10], "y": [0.1, 0.4, 1], "dashed": False, "colour": 0}],
    }  # fmt: skip


class PagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.docs = pathlib.Path(folder.name)
        report = Report("speed", "bench/speed --all")
        with contextlib.redirect_stdout(io.StringIO()):
            report.table("times", ["size", "time"], [["640×480", "0.25 ms"]])
            report.sentence("gain", "Twice as fast.")
            report.plot("curve", **plot())
            report.write(self.docs)
        self.write(PAGE)

    def write(self, text: str) -> None:
        (self.docs / "page.md").write_text(text)

    def assert_finds(self, words: str, text: str) -> None:
        self.assertNotEqual(text, PAGE)
        self.write(text)
        errors = check(self.docs)
        self.assertEqual(len(errors), 1, errors)
        self.assertIn(words, errors[0])

    def test_a_page_with_the_results_is_right(self):
        self.assertEqual(check(self.docs), [])

    def test_a_changed_figure_is_found(self):
        self.assert_finds("0.24 ms", PAGE.replace("0.25", "0.24"))

    def test_a_changed_sentence_is_found(self):
        self.assert_finds("Thrice", PAGE.replace("Twice", "Thrice"))

    def test_another_plot_is_found(self):
        self.assert_finds("speed_other.svg", PAGE.replace("speed_curve", "speed_other"))

    def test_a_missing_row_is_found(self):
        self.assert_finds("640×480", PAGE.replace("| 640×480 | 0.25 ms |\n", ""))

    def test_a_further_row_is_found(self):
        self.assert_finds("more lines", PAGE.replace("0.25 ms |\n", "0.25 ms |\n| 1×1 | 1 ms |\n"))

    def test_an_unknown_result_is_found(self):
        self.assert_finds("no table places", PAGE.replace("table times", "table places"))

    def test_a_mark_can_choose_rows(self):
        data = self.docs / "data" / "speed.json"
        content = json.loads(data.read_text())
        content["tables"]["times"]["rows"].append(["1280×720", "0.6 ms"])
        data.write_text(json.dumps(content))
        chosen = PAGE.replace("table times", "table times with ^640")
        self.write(chosen)
        self.assertEqual(check(self.docs), [])
        self.assert_finds("0.24 ms", chosen.replace("0.25", "0.24"))
        self.assert_finds("more lines", chosen.replace("0.25 ms |\n", "0.25 ms |\n| 1280×720 | 0.6 ms |\n"))

    def test_a_choice_of_no_row_is_found(self):
        self.assert_finds("no table times with 800", PAGE.replace("table times", "table times with 800"))

    def test_only_tables_have_rows_to_choose(self):
        self.assert_finds("no sentence gain with 640", PAGE.replace("sentence gain", "sentence gain with 640"))

    def test_long_sentences_break_at_the_columns_of_the_page(self):
        data = self.docs / "data" / "speed.json"
        content = json.loads(data.read_text())
        content["sentences"]["gain"] = "nine words " * 30
        data.write_text(json.dumps(content))
        check(self.docs, write=True)
        self.assertEqual(check(self.docs), [])
        text = (self.docs / "page.md").read_text()
        self.assertEqual(text.count("nine words"), 30)
        self.assertLessEqual(max(map(len, text.split("\n"))), 100)

    def test_all_tables_of_a_file_can_be_printed(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(show(self.docs, "speed"), 0)
        for part in ("bench/speed --all", "times", "| 640×480 | 0.25 ms |", "gain: Twice as fast."):
            self.assertIn(part, out.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(show(self.docs, "speeds"), 2)
        self.assertIn("it has speed", err.getvalue())

    def test_a_misspelt_mark_is_found(self):
        self.assert_finds("not a mark", PAGE.replace("table times", "tables times"))

    def test_a_missing_command_is_found(self):
        self.assert_finds("bench/speed --all", PAGE.replace("--all", "--some"))

    def test_results_that_no_page_shows_are_found(self):
        self.write("# A page\n")
        self.assertEqual(check(self.docs), ["data/speed.json: no page shows it"])

    def test_a_changed_plot_is_found(self):
        svg = self.docs / "plots" / "speed_curve.svg"
        svg.write_text(svg.read_text().replace("polyline", "polygon"))
        self.assertEqual(check(self.docs), ["plots/speed_curve.svg is not what docs/data/ says"])

    def test_a_plot_of_nothing_is_found(self):
        (self.docs / "plots" / "old.svg").write_text("<svg/>")
        self.assertEqual(check(self.docs), ["plots/old.svg: no file of docs/data/ has this plot"])

    def test_writing_brings_pages_and_plots_up_to_date(self):
        data = self.docs / "data" / "speed.json"
        content = json.loads(data.read_text())
        content["tables"]["times"]["rows"] = [["640×480", "0.2 ms"], ["1280×720", "0.6 ms"]]
        content["plots"]["curve"]["series"][0]["y"] = [0.2, 0.4, 1]
        data.write_text(json.dumps(content))
        self.assertEqual(len(check(self.docs)), 2)
        check(self.docs, write=True)
        self.assertEqual(check(self.docs), [])
        self.assertIn("| 1280×720 | 0.6 ms |\n\n<!--", (self.docs / "page.md").read_text())


class LinePlotTest(unittest.TestCase):
    def test_text_is_escaped(self):
        self.assertIn("ours &amp; &lt;theirs&gt;", line_plot(plot()))

    def test_a_value_outside_the_axes_is_refused(self):
        outside = plot()
        outside["series"][0]["y"][1] = 1.5
        with self.assertRaisesRegex(ValueError, "outside the axes"):
            line_plot(outside)

    def test_ticks_are_round(self):
        self.assertEqual(ticks(0, 1), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
        self.assertEqual(ticks(3, 47), [5, 10, 15, 20, 25, 30, 35, 40, 45])


if __name__ == "__main__":
    unittest.main()
