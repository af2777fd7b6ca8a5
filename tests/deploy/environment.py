# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A virtual environment with the schemas that the tests of deploy/ want, from the package registry that pip is configured for."""

import os
import pathlib
import subprocess
import sys

SCHEMAS = ["PyYAML==6.0.3", "kubernetes-validate==1.37.0", "cloudcoil-models-prometheus-operator==0.80.1.0",
           "grafana-foundation-sdk==1769699998!10.1.0"]
SKIPPED = 77  # exit code for CTest


def enter(venv):
  """Runs this program anew with the Python of the folder `venv`, which is made where it is missing or has other packages.
  Exits with SKIPPED where it cannot be made."""
  venv = pathlib.Path(venv).absolute()
  if pathlib.Path(sys.prefix) == venv:
    return
  python, installed = venv / "bin/python", venv / "installed"
  if not installed.exists() or installed.read_text(encoding="utf-8").split() != SCHEMAS:
    for command in ([sys.executable, "-m", "venv", "--clear", venv],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *SCHEMAS]):
      made = subprocess.run(command, capture_output=True, text=True, check=False)
      if made.returncode != 0:
        print(f"skipped: no environment with the schemas: {(made.stderr or made.stdout).strip()}")
        sys.exit(SKIPPED)
    installed.write_text("\n".join(SCHEMAS), encoding="utf-8")
  os.execv(python, [str(python), *sys.argv])
