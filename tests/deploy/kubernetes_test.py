#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Checks the files in deploy/kubernetes: kubectl renders each folder, and the schemas that Kubernetes and the Prometheus
operator publish allow what comes out. Exit code: 0 valid, 1 not, 77 where kubectl is missing or the environment with the
schemas cannot be made.

  kubernetes_test.py SOURCE-FOLDER VENV
"""

import json
import pathlib
import shutil
import subprocess
import sys

import environment

FOLDERS = ["base", "overlays/gpu-node", "overlays/k3s-jetson", "extract-job", "autoscaling", "monitoring"]
OPERATOR = "monitoring.coreos.com/v1"


def main():
  source = pathlib.Path(sys.argv[1])
  if shutil.which("kubectl") is None:
    print("skipped: kubectl is missing")
    return environment.SKIPPED
  environment.enter(sys.argv[2])
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
