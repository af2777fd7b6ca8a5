# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The examples, and the code of README.md, against a real server. They skip where a library is missing."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbserve

from .conftest import Server, find_program, make_image, write_pgm

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def need(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not here: pip install 'orbserve[examples]'; this example is NOT tested")


def run(example: str, *arguments: str | Path, server: Server | None = None) -> str:
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    if server is not None:
        command += ["--server", server.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images of a moving camera: those of KITTI, where they are."""
    data = os.environ.get("ORBSERVE_TEST_DATA_DIR", "")
    kitti = Path(data) / "seq-kitti-a" / "image_0"
    folder = tmp_path_factory.mktemp("photos")
    if data and kitti.is_dir():
        for path in sorted(kitti.iterdir())[:20]:
            (folder / path.name).symlink_to(path)
        return folder
    wide = make_image(520, 240)
    for i in range(20):
        write_pgm(folder / f"{i:06}.pgm", wide[:, 4 * i : 4 * i + 400])
    return folder


def test_tracks_of_a_folder(server: Server, photos: Path, tmp_path: Path) -> None:
    need("matplotlib")
    output = run("tracks.py", photos, "--frames", "8", "--plot", tmp_path / "t.png", server=server)
    assert re.search(r"frame 7: \d{2,} tracks", output)
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_tracks_of_a_video(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    need("matplotlib", "cv2")
    import cv2

    monkeypatch.setenv("ORBSERVE_SERVER", find_program("ORBSERVE_SERVER", "orbserve-server"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))  # a local server, as no --server is given
    video = tmp_path / "v.avi"
    writer = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*"MJPG"), 10, (320, 240))  # type: ignore[attr-defined]
    wide = make_image(400, 240)
    for i in range(10):
        writer.write(cv2.cvtColor(wide[:, 3 * i : 3 * i + 320].copy(), cv2.COLOR_GRAY2BGR))
    writer.release()
    output = run("tracks.py", video, "--plot", tmp_path / "t.png")
    assert re.search(r"frame 9: \d{2,} tracks", output)


def write_bag(path: Path, photos: list[Path], storage: str) -> None:
    """A bag with one message of raw pixels for each photo, its number as its time. `storage`: "mono16" for 16 bits."""
    import cv2
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if storage == "ros1" else Stores.ROS2_HUMBLE)
    image_type: Any = store.types["sensor_msgs/msg/Image"]
    header_type: Any = store.types["std_msgs/msg/Header"]
    time_type: Any = store.types["builtin_interfaces/msg/Time"]
    writer: Any
    if storage == "ros1":
        writer = Writer1(path)
    else:
        plugin = StoragePlugin.SQLITE3 if storage == "sqlite" else StoragePlugin.MCAP
        writer = Writer2(path, version=9, storage_plugin=plugin)
    with writer:
        connection = writer.add_connection("/camera/image_raw", image_type.__msgtype__, typestore=store)
        for i, photo in enumerate(photos):
            pixels = cv2.imread(str(photo), cv2.IMREAD_GRAYSCALE)
            assert pixels is not None
            height, width = pixels.shape
            padded = np.zeros((height, width + 7), np.uint8)  # rows of a camera may have padding
            padded[:, :width] = pixels
            deep = storage == "mono16"
            data = (1000 + 3 * padded.astype(np.uint16)).astype(">u2").view(np.uint8) if deep else padded
            sequence = {"seq": i} if storage == "ros1" else {}
            header = header_type(stamp=time_type(sec=5, nanosec=i), frame_id="camera", **sequence)
            message = image_type(
                header=header,
                height=height,
                width=width,
                encoding="mono16" if deep else "mono8",
                is_bigendian=int(deep),
                step=data.shape[1],
                data=data.reshape(-1),
            )
            serialize = store.serialize_ros1 if storage == "ros1" else store.serialize_cdr
            writer.write(connection, 5_000_000_000 + i, serialize(message, image_type.__msgtype__))


@pytest.mark.parametrize("storage", ["ros1", "sqlite", "mcap", "mono16"])
def test_features_of_a_bag_are_those_of_the_folder(
    server: Server, program: str, photos: Path, tmp_path: Path, storage: str
) -> None:
    need("rosbags", "cv2")
    names = sorted(photos.iterdir())
    bag = tmp_path / ("a.bag" if storage == "ros1" else "a")
    write_bag(bag, names, storage)
    options = ("--out", tmp_path / "bag", "--max-features", "1000", "--window", "1000", "1765")
    assert "20 images" in run("bag.py", bag, "/camera/image_raw", *options, server=server)
    subprocess.run(
        [program, "extract", "--quiet", "--max-features", "1000", "--out", str(tmp_path / "folder"), str(photos)],
        check=True,
    )
    for i, name in enumerate(names):
        expected = (tmp_path / "folder" / f"{name.name}.npz").read_bytes()
        assert (tmp_path / "bag" / f"{5_000_000_000 + i}.npz").read_bytes() == expected


def test_tracks_of_a_bag(server: Server, client: orbserve.Client, photos: Path, tmp_path: Path) -> None:
    need("rosbags", "cv2")
    names = sorted(photos.iterdir())
    write_bag(tmp_path / "a", names, "mcap")
    options = ("--tracks", tmp_path / "t.csv", "--out", tmp_path / "f", "--preset", "vio", "--max-features", "50")
    assert "20 images" in run("bag.py", tmp_path / "a", "/camera/image_raw", *options, server=server)
    lines = [line.split(",") for line in (tmp_path / "t.csv").read_text().splitlines()]
    assert lines[0] == ["timestamp_ns", "track", "x", "y", "age_frames", "residual"]
    with client.stream(orbserve.Vio(max_features=50), track=True) as stream:
        results = list(stream.run(names))
    rows = [
        [5_000_000_000 + i, *row]
        for i, r in enumerate(results)
        for row in zip(r.tracks.id, *r.tracks.xy.T, r.tracks.age_frames, r.tracks.residual, strict=True)
    ]
    assert np.array_equal(np.array(lines[1:], np.float64).astype(np.float32), np.array(rows, np.float32))
    last = orbserve.Features.load(tmp_path / "f" / "5000000019.npz")
    assert results[-1].features is not None
    assert np.array_equal(last.xy, results[-1].features.xy)


def test_a_bag_needs_something_to_write(photos: Path, tmp_path: Path) -> None:
    need("rosbags")
    with pytest.raises(AssertionError, match="--out or --tracks is missing"):
        run("bag.py", tmp_path, "/camera/image_raw")


def test_a_topic_that_is_not_there_is_named(server: Server, photos: Path, tmp_path: Path) -> None:
    need("rosbags", "cv2")
    write_bag(tmp_path / "a", sorted(photos.iterdir())[:1], "mcap")
    with pytest.raises(AssertionError, match=r"no topic /front; images are in /camera/image_raw"):
        run("bag.py", tmp_path / "a", "/front", "--out", tmp_path / "out", server=server)


def test_files_for_hloc(
    server: Server,
    client: orbserve.Client,
    program: str,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = ("--sequential", "3", "--ratio", "0.85", "--cross-check", "--max-features", "2000", "--format", "hdf5")
    command = [program, "match", "--quiet", *options, "--out", str(tmp_path / "program"), str(photos)]
    done = subprocess.run(command, capture_output=True, text=True)
    if "built without" in done.stderr:
        pytest.skip(f"this is NOT tested: {done.stderr}")
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("ORBSERVE_PROGRAM", program)
    out = tmp_path / "example"
    assert "20 images, 54 pairs" in run("hloc_files.py", photos, "--out", out, "--sequential", "3", server=server)
    pairs = [line.split() for line in (out / "pairs.txt").read_text().splitlines()]
    assert len(pairs) == 54
    for name in ("features.h5", "matches.h5"):
        assert (out / name).read_bytes() == (tmp_path / "program" / name).read_bytes()

    need("h5py")
    import h5py

    pipeline = orbserve.Orb(max_features=2000)
    first, second = (client.extract(photos / name, pipeline) for name in pairs[0])
    matches = client.match(first, second, orbserve.MatchOptions(ratio=0.85, cross_check=True))
    assert len(matches) > 0
    with h5py.File(out / "features.h5") as features, h5py.File(out / "matches.h5") as found:
        assert len(features) == 20
        group = features[pairs[0][0]]
        assert np.array_equal(group["keypoints"], first.xy)
        assert np.array_equal(np.asarray(group["descriptors"]).T, first.descriptors)
        assert tuple(group["image_size"]) == first.image_size
        rows = np.asarray(found["/".join(pairs[0])]["matches0"])
        assert np.array_equal(np.flatnonzero(rows >= 0), matches.query_index)
        assert np.array_equal(rows[rows >= 0], matches.train_index)


def test_dask_with_a_killed_worker_writes_the_same_files(
    server: Server, program: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("distributed")
    from distributed import Client, LocalCluster

    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))  # for the workers
    import dask_folder

    many = tmp_path / "many"
    many.mkdir()
    for i in range(10):
        for path in photos.iterdir():
            (many / f"{i}-{path.name}").symlink_to(path.resolve())
    out = tmp_path / "dask"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as dask:
        before = dask.run(os.getpid)
        done = dask_folder.extract_folder(dask, server.address, many, out, 1000)
        total = next(done)
        os.kill(next(iter(before.values())), signal.SIGKILL)  # in the middle
        total += sum(done)
        after = dask.run(os.getpid)
    assert total == 200
    assert set(after.values()) != set(before.values())
    command = [program, "extract", "--quiet", "--max-features", "1000", "--out", str(tmp_path / "single"), str(many)]
    subprocess.run(command, check=True)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "single").iterdir() if path.suffix == ".npz"}
    assert len(expected) == 200
    assert {path.name: path.read_bytes() for path in out.iterdir()} == expected


@pytest.mark.parametrize("folder_of_page", [EXAMPLES.parent, EXAMPLES.parents[1]])
def test_the_code_of_the_readme_runs(
    folder_of_page: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    text = (folder_of_page / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    names = sorted(photos.iterdir())
    for name, path in zip(("a.jpg", "b.jpg"), names, strict=False):
        (tmp_path / name).symlink_to(path.resolve())  # the content counts, not the name
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBSERVE_SERVER", find_program("ORBSERVE_SERVER", "orbserve-server"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], check=True, timeout=60)
