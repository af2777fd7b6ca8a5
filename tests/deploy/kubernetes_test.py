#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the files in deploy/kubernetes: kubectl renders each folder, and the schemas that Kubernetes and the Prometheus
operator publish allow what comes out. The schemas come from the package registry that pip is configured for, into a virtual
environment that is kept. Exit code: 0 valid, 1 not, 77 where kubectl is missing or the environment cannot be made.

  kubernetes_test.py SOURCE-FOLDER VENV
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

FOLDERS = ["base", "overlays/gpu-node", "overlays/k3s-jetson", "extract-job", "autoscaling", "monitoring"]
OPERATOR = "monitoring.coreos.com/v1"
SCHEMAS = ["PyYAML==6.0.3", "kubernetes-validate==1.37.0", "cloudcoil-models-prometheus-operator==0.80.1.0"]
SKIPPED = 77


def run_in(venv):
  """Runs this program anew with the Python of `venv`, which is made where it is missing or has other packages."""
  python, installed = venv / "bin/python", venv / "installed"
  if not installed.exists() or installed.read_text(encoding="utf-8").split() != SCHEMAS:
    for command in ([sys.executable, "-m", "venv", "--clear", venv],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *SCHEMAS]):
      made = subprocess.run(command, capture_output=True, text=True, check=False)
      if made.returncode != 0:
        print(f"skipped: no environment with the schemas: {(made.stderr or made.stdout).strip().splitlines()[-1:]}")
        return SKIPPED
    installed.write_text("\n".join(SCHEMAS), encoding="utf-8")
  os.execv(python, [str(python), *sys.argv[:2]])


def main():
  source = pathlib.Path(sys.argv[1])
  if shutil.which("kubectl") is None:
    print("skipped: kubectl is missing")
    return SKIPPED
  if len(sys.argv) > 2:
    return run_in(pathlib.Path(sys.argv[2]).absolute())
  import cloudcoil.models.prometheus_operator.v1 as operator
  import kubernetes_validate
  import yaml
  for folder in FOLDERS:
    rendered = subprocess.run(["kubectl", "kustomize", source / "deploy/kubernetes" / folder],
                              capture_output=True, text=True, check=False)
    if rendered.returncode != 0 or rendered.stderr:
      print(f"{folder}: {rendered.stderr}")
      return 1
    for resource in yaml.safe_load_all(rendered.stdout):
      name = f"{folder}: {resource['kind']} {resource['metadata']['name']}"
      if resource["apiVersion"] == OPERATOR:
        model = getattr(operator, resource["kind"])
        kept = json.loads(model.model_validate(resource).model_dump_json(by_alias=True, exclude_none=True))
        lost = set(resource["spec"]) - set(kept["spec"])
        if lost:
          print(f"{name}: the operator knows no {', '.join(sorted(lost))}")
          return 1
      else:
        kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)
      print(f"{name}: valid")
  return 0


if __name__ == "__main__":
  sys.exit(main())
