#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the files in deploy/kubernetes: kubectl renders each folder, and the schemas that Kubernetes and the Prometheus
operator publish allow what comes out (pip packages kubernetes-validate, cloudcoil-models-prometheus-operator). A part whose
tool is missing is passed over, and the exit code is then 77.

  kubernetes_test.py SOURCE-FOLDER
"""

import importlib
import json
import pathlib
import shutil
import subprocess
import sys

FOLDERS = ["base", "overlays/gpu-node", "overlays/k3s-jetson", "extract-job", "autoscaling", "monitoring"]
OPERATOR = "monitoring.coreos.com/v1"


def load(name):
  try:
    return importlib.import_module(name)
  except ImportError:
    print(f"passed over: no Python package {name}")
    return None


def main():
  source = pathlib.Path(sys.argv[1])
  yaml = load("yaml")
  if shutil.which("kubectl") is None or yaml is None:
    print("passed over: kubectl or PyYAML is missing")
    return 77
  validate = load("kubernetes_validate")
  operator = load("cloudcoil.models.prometheus_operator.v1")
  seen = 0
  skipped = validate is None or operator is None
  for folder in FOLDERS:
    rendered = subprocess.run(["kubectl", "kustomize", source / "deploy/kubernetes" / folder],
                              capture_output=True, text=True, check=False)
    if rendered.returncode != 0 or rendered.stderr:
      print(f"{folder}: {rendered.stderr}")
      return 1
    for resource in yaml.safe_load_all(rendered.stdout):
      name = f"{folder}: {resource['kind']} {resource['metadata']['name']}"
      if resource["apiVersion"] == OPERATOR:
        if operator is not None:
          model = getattr(operator, resource["kind"])
          kept = json.loads(model.model_validate(resource).model_dump_json(by_alias=True, exclude_none=True))
          lost = set(resource["spec"]) - set(kept["spec"])
          if lost:
            print(f"{name}: the operator knows no {', '.join(sorted(lost))}")
            return 1
      elif validate is not None:
        validate.validate(resource, validate.latest_version(), strict=True)
      seen += 1
      print(f"{name}: valid")
  return 77 if skipped or seen == 0 else 0


if __name__ == "__main__":
  sys.exit(main())
