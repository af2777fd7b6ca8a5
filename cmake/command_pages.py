#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Writes man pages and shell completion of a program from what its --help prints.

The program is asked for its own help and for that of every command below it. A page of each goes to OUT/man, with the
sections of PAGES/NAME.roff behind it where there is such a file. Completion goes to OUT/bash and OUT/zsh.

  command_pages.py --name NAME --section N --version V --pages PAGES --out OUT [--related NAME SECTION] PROGRAM...

PROGRAM... starts the program; it may begin with an emulator.
"""

import argparse
import dataclasses
import gzip
import pathlib
import re
import shutil
import subprocess
import sys

_CHOICE = r"[a-z][a-z0-9-]*"
# "auto, cpu or cuda" at the end of a description, or as all of it.
_CHOICES = re.compile(rf"(?:^|: ){_CHOICE}(?:(?:, | or |, or ){_CHOICE})+$")
_METAVARS = {"DIR", "FILE", "PRESET", "NAME", "TEXT", "HOST", "PORT"}


@dataclasses.dataclass
class Option:
  names: list
  value: str  # what follows the name, "" for a flag
  text: str

  @property
  def choices(self):
    words = self.value.split("|")
    if len(words) > 1 and all(re.fullmatch(r"[A-Za-z0-9_-]+", word) for word in words):
      return [] if _METAVARS.intersection(words) else words
    found = _CHOICES.search(self.text.replace(" (default)", "")) if self.value else None
    return re.findall(_CHOICE, re.sub(r",| or ", " ", found.group().lstrip(": "))) if found else []

  @property
  def wants_files(self):
    return any(word in self.value for word in ("FILE", "DIR")) or "file" in self.text.lower()


@dataclasses.dataclass
class Command:
  path: list  # program and commands
  text: str = ""
  usage: str = ""
  groups: list = dataclasses.field(default_factory=list)  # of (title, [Option])
  positionals: list = dataclasses.field(default_factory=list)
  commands: list = dataclasses.field(default_factory=list)  # of Command

  @property
  def name(self):
    return "-".join(self.path)

  @property
  def options(self):
    return [option for _, options in self.groups for option in options]

  def all(self):
    yield self
    for command in self.commands:
      yield from command.all()


def read_option(line):
  head, _, text = line.strip().partition("  ")
  names, _, value = head.partition(" ")
  return Option(names.split(","), value.strip(), text.strip())


def read_command(program, path):
  words = [*program, *path[1:], "--help"]
  done = subprocess.run(words, capture_output=True, text=True, check=False)
  if done.returncode != 0:
    sys.exit(f"command_pages.py: {' '.join(words)} ended with {done.returncode}: {done.stderr}")
  command = Command(path)
  title, last = None, None
  for line in done.stdout.splitlines():
    heading = re.fullmatch(r"(\S.*):", line)
    if heading:
      title, last = heading.group(1), None
      if title not in ("Positionals", "Subcommands"):
        command.groups.append((title, []))
    elif line.startswith("Usage: "):
      command.usage = line.removeprefix("Usage: ")
    elif title is None:
      command.text = f"{command.text} {line}".strip()
    elif re.match(r" {3,}\S", line) and last is not None:  # the rest of a description
      last.text = f"{last.text} {line.strip()}".strip()
    elif line.strip() and title == "Subcommands":
      name, _, text = line.strip().partition(" ")
      last = Command([*path, name], text.strip())
      command.commands.append(last)
    elif line.strip():
      last = read_option(line)
      (command.positionals if title == "Positionals" else command.groups[-1][1]).append(last)
  if not command.options:
    sys.exit(f"command_pages.py: {' '.join(words)} names no options that can be read:\n{done.stdout}")
  command.commands = [read_command(program, each.path) for each in command.commands]
  return command


def clean_value(value):
  """CLI11 says of a value what it checks, too: MS:INT in [1 - 1000], TEXT ... REQUIRED."""
  return re.sub(r":(INT|UINT|FLOAT|NUMBER|TEXT)( in \[.*\])?| REQUIRED", "", value)


def roff(text):
  text = text.replace("\\", "\\e").replace("-", "\\-")
  return "\\&" + text if text.startswith((".", "'")) else text


def man_page(command, section, version, related, extra):
  lines = [
      f'.TH {roff(command.name.upper())} {section} "" "orbserve {version}" "orbserve manual"',
      ".SH NAME",
      f"{roff(command.name)} \\- {roff(command.text[:1].lower() + command.text[1:].rstrip('.'))}",
      ".SH SYNOPSIS",
  ]
  program, _, rest = command.usage.partition(" [OPTIONS]")
  lines += [f".B {roff(program)}", f"[\\fIOPTION\\fR]... {roff(rest.strip())}"]
  if command.positionals:
    lines.append(".SH ARGUMENTS")
    for each in command.positionals:
      lines += [".TP", f".I {roff(each.names[0])}", roff(each.text)]
  for title, options in command.groups:
    lines.append(f".SH {roff(title.upper())}")
    for option in options:
      names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option.names)
      value = f" \\fI{roff(clean_value(option.value))}\\fR" if option.value else ""
      lines += [".TP", names + value, roff(option.text)]
  if command.commands:
    lines.append(".SH COMMANDS")
    for each in command.commands:
      lines += [".TP", f"\\fB{roff(each.path[-1])}\\fR", f"{roff(each.text)}; see \\fB{roff(each.name)}\\fR({section})."]
  lines.append(extra.rstrip("\n"))
  lines.append(".SH SEE ALSO")
  lines += [f".BR {roff(name)} ({number}){',' if i + 1 < len(related) else ''}" for i, (name, number) in enumerate(related)]
  return "\n".join(line for line in lines if line) + "\n"


def bash_completion(command):
  function = "_" + command.name.replace("-", "_")
  chain, values, words = [], [], []
  for each in command.all():
    here = " ".join(each.path)
    for child in each.commands:
      chain.append(f'      "{here} {child.path[-1]}") command="{" ".join(child.path)}" ;;')
    for option in each.options:
      if not option.value:
        continue
      pattern = " | ".join(f'"{here} {name}"' for name in option.names)
      if option.choices:
        action = f"COMPREPLY=($(compgen -W '{' '.join(option.choices)}' -- \"$current\"))"
      elif option.wants_files:
        action = 'compopt -o filenames; COMPREPLY=($(compgen -f -- "$current"))'
      else:
        action = "COMPREPLY=()"
      values.append(f"    {pattern}) {action}; return ;;")
    names = [name for option in each.options for name in option.names if name.startswith("--")]
    words.append(f'    "{here}") options="{" ".join(names)}" commands="{" ".join(c.path[-1] for c in each.commands)}" ;;')
  return "\n".join([
      f"# bash completion of {command.name}, made from its --help",
      f"{function}() {{",
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
      f'  local command="{command.name}" options="" commands="" i',
      *([
          "  for ((i = 1; i < COMP_CWORD; ++i)); do",
          '    case "$command ${COMP_WORDS[i]}" in',
          *chain,
          "    esac",
          "  done",
      ] if chain else []),
      '  case "$command $previous" in',
      *values,
      "  esac",
      '  case "$command" in',
      *words,
      "  esac",
      '  if [[ $current == -* ]]; then',
      '    COMPREPLY=($(compgen -W "$options" -- "$current"))',
      '  elif [[ -n $commands ]]; then',
      '    COMPREPLY=($(compgen -W "$commands" -- "$current"))',
      "  else",
      "    compopt -o filenames",
      '    COMPREPLY=($(compgen -f -- "$current"))',
      "  fi",
      "}",
      f"complete -F {function} {command.name}",
      "",
  ])


def zsh_text(text):
  return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_option(option):
  action = ""
  if option.choices:
    action = f":value:({' '.join(option.choices)})"
  elif option.wants_files:
    action = ":file:_files"
  elif option.value:
    action = ":value:"
  for name in option.names:
    glue = "=" if option.value and name.startswith("--") else ""
    yield f"    '{name}{glue}[{zsh_text(option.text)}]{action}'"


def zsh_function(command):
  function = "_" + command.name.replace("-", "_")
  specs = [spec for option in command.options for spec in zsh_option(option)]
  if not command.commands:
    specs.append("    '*:file:_files'")
    return [f"{function}() {{", "  _arguments -s -S \\", " \\\n".join(specs), "}", ""]
  children = [f"    '{each.path[-1]}:{zsh_text(each.text)}'" for each in command.commands]
  cases = [f"    {each.path[-1]}) _{each.name.replace('-', '_')} ;;" for each in command.commands]
  return [
      *(line for each in command.commands for line in zsh_function(each)),
      f"{function}() {{",
      "  local line state",
      "  _arguments -C -s -S \\",
      " \\\n".join([*specs, "    '1:command:->command'", "    '*::argument:->argument'"]),
      "  local -a commands=(",
      *children,
      "  )",
      '  case "$state" in',
      "  command) _describe command commands ;;",
      "  argument)",
      '    case "$line[1]" in',
      *cases,
      "    esac",
      "    ;;",
      "  esac",
      "}",
      "",
  ]


def zsh_completion(command):
  function = "_" + command.name.replace("-", "_")
  return "\n".join([f"#compdef {command.name}", f"# made from the --help of {command.name}", "",
                    *zsh_function(command), f'{function} "$@"', ""])


def write(path, text):
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--name", required=True)
  parser.add_argument("--section", required=True)
  parser.add_argument("--version", required=True)
  parser.add_argument("--pages", required=True, type=pathlib.Path, help="folder of the sections written by hand")
  parser.add_argument("--out", required=True, type=pathlib.Path)
  parser.add_argument("--related", nargs=2, action="append", default=[], metavar=("NAME", "SECTION"))
  parser.add_argument("program", nargs=argparse.REMAINDER)
  arguments = parser.parse_args()

  root = read_command(arguments.program, [arguments.name])
  shutil.rmtree(arguments.out, ignore_errors=True)
  for command in root.all():
    extra = arguments.pages / f"{command.name}.roff"
    related = [(command.path[0], arguments.section)] if command is not root else []
    related += [(each.name, arguments.section) for each in command.commands] + arguments.related
    page = man_page(command, arguments.section, arguments.version, related,
                    extra.read_text(encoding="utf-8") if extra.exists() else "")
    write(arguments.out / f"man/man{arguments.section}/{command.name}.{arguments.section}.gz", page)
  write(arguments.out / f"bash/{arguments.name}", bash_completion(root))
  write(arguments.out / f"zsh/_{arguments.name}", zsh_completion(root))


if __name__ == "__main__":
  main()
