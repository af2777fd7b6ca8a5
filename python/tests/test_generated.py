# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The package against the contract, the program and the server: nothing may drift."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbserve
from orbserve._contract import wire
from orbserve._options import Options, WireEnum, _types

from .conftest import REPOSITORY

PACKAGE = Path(__file__).resolve().parents[1]


def test_generated_files_are_those_of_the_contract_and_the_program(program: str) -> None:
    if shutil.which("protoc") is None:
        pytest.skip("protoc is not here: the contract in the package is NOT compared with proto/")
    command = [sys.executable, str(PACKAGE / "tools" / "generate.py"), "--check", "--program", program]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_code_generated_from_the_contract_is_found_beside_the_package(tmp_path: Path) -> None:
    # An empty module stands for the code: its text depends on the version of protoc, its place does not.
    (tmp_path / "orbserve" / "v1").mkdir(parents=True)
    (tmp_path / "orbserve" / "v1" / "orbserve_pb2.py").write_text("found = True\n")
    text = "import orbserve, orbserve.v1.orbserve_pb2 as pb; print(pb.found, orbserve.Orb().levels)"
    for order in (f"sys.path.insert(0, {str(tmp_path)!r})", f"sys.path.append({str(tmp_path)!r})"):
        run = subprocess.run([sys.executable, "-c", f"import sys; {order}; {text}"], capture_output=True, text=True)
        assert run.stdout == "True 8\n", run.stderr


def test_version_is_the_one_of_the_project() -> None:
    found = re.search(r"project\(orbserve VERSION ([\d.]+)", (REPOSITORY / "CMakeLists.txt").read_text())
    assert found is not None
    assert orbserve.__version__ == found[1]
    assert (PACKAGE / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_version_and_presets_are_those_of_the_server(client: orbserve.Client) -> None:
    info = client.info()
    assert orbserve.__version__ == info.version
    assert {preset.name for preset in info.presets if preset.available} == set(orbserve.PRESETS)
    for preset in info.presets:
        assert preset.pipeline is not None
        ours = orbserve.PRESETS[preset.name]()
        assert dataclasses.asdict(ours) == dataclasses.asdict(preset.pipeline)
        # Nothing but the preset goes over the wire where nothing differs from it.
        assert ours._to_wire() == wire.Pipeline(preset=preset.name)


def attributes() -> list[tuple[str, str, Any]]:
    """Path in the contract, attribute of `Pipeline`, and type of every option."""
    found = []
    types = _types(orbserve.Pipeline)
    for field in dataclasses.fields(orbserve.Pipeline):
        kind = types[field.name]
        if isinstance(kind, type) and issubclass(kind, Options):
            found += [(f"{field.name}.{name}", f"{field.name}.{name}", inner) for name, inner in _types(kind).items()]
        elif field.name != "preset":
            found.append((field.metadata["path"], field.name, kind))
    return found


def test_every_option_of_the_contract_has_an_attribute() -> None:
    paths = [
        f"{group.name}.{field.name}"
        for group in wire.Pipeline.DESCRIPTOR.fields
        if group.message_type is not None
        for field in group.message_type.fields
    ]
    assert sorted(path for path, _, _ in attributes()) == sorted(paths)


@pytest.mark.parametrize(("path", "attribute", "kind"), attributes())
def test_every_option_reaches_the_message_and_comes_back(path: str, attribute: str, kind: Any) -> None:
    values: list[Any] = [0.25] if kind is float else [True, False] if kind is bool else [3, 0]
    if isinstance(kind, type) and issubclass(kind, WireEnum):
        values = list(kind)
    is_array = typing.get_origin(kind) is tuple
    if is_array:
        values = [(0.1, -2.5, 3.0)]
    group, name = path.split(".")
    for value in values:
        if "." in attribute:
            options = {"match": orbserve.MatchOptions, "track": orbserve.TrackOptions}[group](**{name: value})
            pipeline = orbserve.Pipeline(**{group: options})
        else:
            pipeline = orbserve.Pipeline(**{attribute: value})
        message = pipeline._to_wire()
        sent = getattr(getattr(message, group), name)
        assert (tuple(sent) if is_array else sent) == value
        assert len(getattr(message, group).ListFields()) == 1
        assert orbserve.Pipeline._from_wire(message) == pipeline


def test_enums_are_those_of_the_contract() -> None:
    for enum in wire.Frame.DESCRIPTOR.file.enum_types_by_name.values():
        ours = getattr(orbserve, enum.name)
        prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.name).upper() + "_"
        expected = {v.name.removeprefix(prefix): v.number for v in enum.values if v.number != 0}
        assert {value.name: value.value for value in ours} == expected


def test_names_stand_for_values_of_enums() -> None:
    named = orbserve.Pipeline(detector="shi-tomasi", score="sad_arc")  # type: ignore[arg-type]
    assert named == orbserve.Pipeline(detector=orbserve.Detector.SHI_TOMASI, score=orbserve.Score.SAD_ARC)
    with pytest.raises(ValueError, match="Detector must be one of FAST, HARRIS, SHI_TOMASI, SIFT; got 'surf'"):
        orbserve.Pipeline(detector="surf")  # type: ignore[arg-type]


def test_options_of_a_wrong_type_are_named() -> None:
    with pytest.raises((TypeError, ValueError), match="max_features"):
        orbserve.Orb(max_features=-1)._to_wire()
    with pytest.raises((TypeError, ValueError), match=r"match\.ratio"):
        orbserve.Orb(match=orbserve.MatchOptions(ratio="half"))._to_wire()  # type: ignore[arg-type]


def test_a_matrix_may_be_an_array_or_a_nested_list() -> None:
    rows = [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.5]]
    for given in (rows, np.array(rows), np.array(rows, np.float32)):
        options = orbserve.MatchOptions(fundamental=given, max_epipolar_px=2)  # type: ignore[arg-type]
        assert options.fundamental == (0, 0, 0, 0, 0, -1, 0, 1, 0.5)
        message = options._to_wire(wire.MatchOptions())
        assert list(message.fundamental) == [0, 0, 0, 0, 0, -1, 0, 1, 0.5]
    with pytest.raises((TypeError, ValueError), match="fundamental"):
        orbserve.MatchOptions(fundamental=["a"])  # type: ignore[arg-type]


def test_options_of_a_preset_replace_single_values() -> None:
    message = orbserve.Orb(levels=4, match=orbserve.MatchOptions(ratio=0.5, k=1))._to_wire()
    assert message == wire.Pipeline(preset="orb", pyramid={"levels": 4}, match={"ratio": 0.5})


def test_a_pipeline_is_read_from_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "p.textproto"
    path.write_text('preset: "vio"\npyramid { levels: 3 }\ntrack { illumination: ILLUMINATION_GAIN }\n')
    track = orbserve.TrackOptions(illumination=orbserve.Illumination.GAIN)
    assert orbserve.Pipeline.load(path) == orbserve.Pipeline(preset="vio", levels=3, track=track)
    path.write_text("pyramid { lewels: 3 }")
    with pytest.raises(ValueError, match=r"p\.textproto: 1:11 "):
        orbserve.Pipeline.load(path)
