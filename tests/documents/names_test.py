#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that the documents name exists: files, links and their headings, commands and options of the programs, metrics.

  names_test.py REPOSITORY BUILD/bin
"""

import functools
import glob
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
PROGRAMS = pathlib.Path(sys.argv[2])
FOLDERS = "bench|client|cmake|cpu|deploy|docker|docs|features|gpu|proto|python|script|server|tests"
# Metrics of Prometheus rules, of other programs, and names of things that are no metrics.
NO_METRICS = re.compile(
    r"orbserve_(server|client|cli|commands|cpu|gpu|proto|serving|features|warnings|exact_math|add_\w+|test_support|telemetry|version"
    r"|hdf5|jetson_\w+|pb2\w*|reason|config|v1\w*)$"
)

failures = []


def fail(page, message):
    failures.append(f"{page.relative_to(ROOT)}: {message}")


def pages():
    names = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md"), *ROOT.glob("docker/**/*.md"), ROOT / "python/README.md"]
    return sorted(page for page in names if page.name != "CHANGELOG.md")


@functools.cache
def text_of(page):
    return page.read_text()


@functools.cache
def headings(page):
    """Anchors of the headings of a page, as GitHub makes them."""
    anchors = set()
    for line in re.sub(r"```.*?```", "", text_of(page), flags=re.S).splitlines():
        if match := re.match(r"#+ (.*)", line):
            words = re.sub(r"[^\w\- ]", "", match[1].lower().replace("`", ""))
            anchors.add(words.strip().replace(" ", "-"))
    return anchors


def check_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            fail(page, f"the link {target} leads nowhere")
        elif anchor and file.suffix == ".md" and anchor not in headings(file):
            fail(page, f"the link {target}: {file.name} has no such heading")


def braces(name):
    """a.{h,cc} -> a.h, a.cc"""
    match = re.search(r"\{([^{}]*)\}", name)
    if match is None:
        return [name]
    return itertools.chain.from_iterable(braces(name[: match.start()] + part + name[match.end() :]) for part in match[1].split(","))


def check_files(page):
    for name in re.findall(rf"`(?:\./)?((?:{FOLDERS})/[\w./*{{}},-]+)`", text_of(page)):
        for one in braces(name):
            if re.search(r"NAME|STAGE|LEVEL|DIR|N\b", one) or re.fullmatch(r"\w+/(ms|s)", one):
                continue  # stands for several, or is the column of a table
            if not glob.glob(str(ROOT / one)) and not glob.glob(str(page.parent / one)):
                fail(page, f"there is no file {one}")


@functools.cache
def help_of(program, *command):
    run = subprocess.run([PROGRAMS / program, *command, "--help"], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


@functools.cache
def options_of(program, *command):
    text = help_of(program, *command)
    return None if text is None else set(re.findall(r"--[a-z][\w-]*", text))


@functools.cache
def commands():
    text = help_of("orbserve")
    return re.findall(r"^  ([a-z]+) ", text[text.index("ubcommands") :], flags=re.M)


def check_commands(page):
    """Lines and inline code that begin with one of the programs."""
    code = re.findall(r"`(orbserve(?:-server)? [^`\n]+)`", text_of(page))
    for block in re.findall(r"```\w*\n(.*?)```", text_of(page), flags=re.S):
        block = block.replace("\\\n", " ")
        code += re.findall(r"(?:^|[|;&(]|\$ )\s*((?:\S*/)?orbserve(?:-server)? [^|;&\n]+)", block, flags=re.M)
    for line in code:
        words = line.split("  #")[0].split()
        program = words[0].split("/")[-1]
        command = []
        if program == "orbserve":
            if not re.fullmatch(r"[a-z]+", words[1]):
                continue  # orbserve --help, orbserve COMMAND, output of a program
            if words[1] not in commands():
                fail(page, f"orbserve has no command {words[1]}: {line}")
                continue
            command = [words[1]]
            if words[1] == "reference":
                command += [word for word in words[2:3] if word in ("put", "list", "delete")]
        known = options_of(program, *command)
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(words[1:])):
            if option not in known | {"--help", "--version"}:
                fail(page, f"{' '.join([program, *command])} has no option {option}: {line}")


def check_options(page):
    """Options in inline code, on the page of the program, whatever their command."""
    known = set().union(*(options_of("orbserve", name) for name in commands()), options_of("orbserve", "reference", "put"))
    known |= options_of("orbserve") | options_of("orbserve-server")
    for code in re.findall(r"`(--[^`\n]*)`", text_of(page)):
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code):
            if option not in known:
                fail(page, f"no program has the option {option}")


def check_flags():
    """The table of flags in docs/cli.md says what client/cli/pipeline_flags.cc does."""
    source = (ROOT / "client/cli/pipeline_flags.cc").read_text()
    wanted = {}
    for flag, group, field in re.findall(r'\{"--([\w-]+)", (?:nullptr|"--[\w-]+"), "(\w+)\.(\w+)"', source):
        wanted[flag] = (group, field)
    page = ROOT / "docs/cli.md"
    found = {}
    for group, cells in re.findall(r"^\| `(pyramid|detect|suppress|select|describe|sift|match|track)`[^|]*\| (.*) \|$", text_of(page), flags=re.M):
        for flag, field in re.findall(r"`--([\w-]+)`(?:, `--no-[\w-]+`)?(?: \(`(\w+)`\))?", cells):
            found[flag] = (group, field or (flag.removeprefix("track-") if group == "track" else flag).replace("-", "_"))
    for flag in sorted(wanted.keys() | found.keys()):
        if wanted.get(flag) != found.get(flag):
            fail(page, f"--{flag} is {wanted.get(flag)} in pipeline_flags.cc, and {found.get(flag)} here")


@functools.cache
def metrics():
    """Families of docs/metrics.md, whose list a test compares with a server's page."""
    text = text_of(ROOT / "docs/metrics.md")
    names = set(re.findall(r"`((?:orbserve|process)_\w+)", text))
    # The table of queues leaves out the beginning of their names, and those of their limits.
    for name in re.findall(r"^\| `([a-z_]+)`", text, flags=re.M):
        names |= {f"orbserve_{name}", f"orbserve_limit_{name}"}
    return names | {name + end for name in names for end in ("_bucket", "_sum", "_count")}


def check_metrics(page):
    recorded = set(re.findall(r"record: (\S+)", "".join(path.read_text() for path in ROOT.glob("deploy/**/*.y*ml"))))
    for name in set(re.findall(r"(?<![\w/.:-])orbserve_[a-z_0-9]+(?![\w.(/:-])", text_of(page))):
        if name in metrics() | recorded or NO_METRICS.match(name) or name.endswith("_"):
            continue
        fail(page, f"docs/metrics.md has no metric {name}")


def main():
    checked = 0
    for page in pages():
        check_links(page)
        check_files(page)
        check_commands(page)
        if page.parent.name != "decisions":
            check_metrics(page)
        checked += 1
    for page in ("README.md", "docs/cli.md", "docs/configuration.md"):
        check_options(ROOT / page)
    check_flags()
    print("\n".join(failures) or f"{checked} pages name only what exists")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
