#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the dashboards in deploy/grafana with the classes that Grafana publishes of its schemas, and writes them again: they
must keep every value. Exit code: 0 valid, 1 not, 77 where the environment cannot be made.

  dashboard_test.py SOURCE-FOLDER VENV
"""

import json
import pathlib
import re
import sys

import environment

# Grafana itself writes these; they are not in its schemas.
UNPUBLISHED = [r"/annotations/list/\d+/titleFormat", r"/templating/list/\d+/definition"]


def differences(before, after, path=""):
  """Paths of the values of `before` that `after` lacks or has otherwise."""
  if isinstance(before, dict) and isinstance(after, dict):
    for key, value in before.items():
      if key in after:
        yield from differences(value, after[key], f"{path}/{key}")
      else:
        yield f"{path}/{key}"
  elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
    for index, (one, other) in enumerate(zip(before, after)):
      yield from differences(one, other, f"{path}/{index}")
  elif before != after:
    yield path


def main():
  source = pathlib.Path(sys.argv[1])
  environment.enter(sys.argv[2])
  from grafana_foundation_sdk.cog.encoder import JSONEncoder
  from grafana_foundation_sdk.models.dashboard import Dashboard
  files = sorted((source / "deploy/grafana/dashboards").glob("*.json"))
  assert files, "there are no dashboards"
  failed = False
  for file in files:
    dashboard = json.loads(file.read_text(encoding="utf-8"))
    written = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    unknown = [each for each in differences(dashboard, written) if not any(re.fullmatch(known, each) for known in UNPUBLISHED)]
    print(f"{file.name}: {len(dashboard['panels'])} panels,", f"Grafana does not know {unknown}" if unknown else "valid")
    failed = failed or bool(unknown)
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
