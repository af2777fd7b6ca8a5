# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Features and matches as arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from . import _check, _codec, _new_file, _npz
from ._codec import Bytes
from ._contract import wire
from ._errors import shown
from ._generated import DescriptorType, Execution, Timings
from ._options import enum_of

if TYPE_CHECKING:
    import cv2

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]

# The kind of descriptors that a number of bytes stands for, where nothing else is said.
_TYPE_OF_BYTES = {0: DescriptorType.NONE, 4: DescriptorType.RBRIEF_32, 32: DescriptorType.RBRIEF_256}
# Kinds whose distances are squares of Euclidean ones.
_SIFT_TYPES = (DescriptorType.SIFT, DescriptorType.ROOT_SIFT, DescriptorType.L1_ROOT_SIFT)
_DEFAULT_SIZE = 31.0  # of cv::ORB, and of the program's for files without the array

# Packed columns of a FeatureSet.
_X, _Y, _SIZE, _ANGLE, _RESPONSE, _OCTAVE, _SOURCE, _DESCRIPTORS = 1, 2, 3, 4, 5, 6, 7, 15
_LAYER, _LAYER_FRACTION = 14, 16


@dataclass(frozen=True, eq=False)
class Features:
    """Features of an image: arrays with one row per keypoint, named as those of the program's NPZ files.

    Rows are ordered by level up, response down, y up, x up, or as the caller gave the keypoints; `orb-slam3` and `sift`
    have orders of their own. Features of one's own
    are made from arrays; columns that are left out have the values of a file without them. ValueError for arrays whose
    shapes do not fit each other.
    """

    xy: Float32
    """(N, 2): x and y, pixels of the full-size image; (0, 0) is the centre of the top-left pixel, y down."""

    size: Float32 = None  # type: ignore[assignment]  # filled in by __post_init__
    """(N,): diameter of the described patch, pixels of the full-size image. Default: 31."""

    angle: Float32 = None  # type: ignore[assignment]
    """(N,): degrees in [0, 360), clockwise on the screen; -1 = none. Default: -1."""

    response: Float32 = None  # type: ignore[assignment]
    """(N,): value that ranked the keypoint; larger is better; may be negative. Default: 0."""

    octave: Int32 = None  # type: ignore[assignment]
    """(N,): pyramid level, 0..15, 0 = full size, -1 = the doubled image of SIFT. Default: 0."""

    descriptors: UInt8 = None  # type: ignore[assignment]
    """(N, B), B = 128, 64, 32, 4 or 0 bytes: test i is bit i % 8 of byte i // 8, of TEBLID and BEBLID bit 7 - i % 8;
    SIFT: numbers. Default: (N, 0).
    """

    image_size: tuple[int, int] = (0, 0)
    """Width and height of the image, pixels; (0, 0) = not known."""

    descriptor_type: DescriptorType = None  # type: ignore[assignment]
    """Kind of the descriptors, with which alone they can be matched. Default: by the number of bytes."""

    suppression_passes: int | None = None
    """Passes of the suppression MINIMUM_DISTANCE, from 1; None where there were none."""

    layer: Int32 | None = None
    """(N,): layer of the octave, from 1; of the detector SIFT, else None."""

    layer_fraction: Int32 | None = None
    """(N,): offset from the layer in layers, plus 0.5, times 255, rounded: 0..255; None as for `layer`."""

    source_index: Int32 | None = None
    """(N,): rows of the keypoints that were given; None for detected ones."""

    truncated: bool = False
    """More features qualified than an answer may hold (`Pipeline.capacity`)."""

    sequence: int = 0
    """The frame's number, as it was sent."""

    timestamp_ns: int = 0
    """The frame's time, as it was sent."""

    timings: Timings | None = field(default=None, repr=False)
    """Times of the frame on the server; None for features that are no answer."""

    execution: Execution | None = field(default=None, repr=False)
    """Place of the computation; None for features that are no answer."""

    def __post_init__(self) -> None:
        """Fills in columns that were left out and checks the shapes."""
        xy = np.asarray(self.xy, np.float32)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise ValueError(f"xy must have the shape (N, 2); got {xy.shape}")
        count = len(xy)
        values: dict[str, Any] = {"xy": xy}
        for name, kind, default in (
            ("size", np.float32, _DEFAULT_SIZE),
            ("angle", np.float32, -1.0),
            ("response", np.float32, 0.0),
            ("octave", np.int32, 0),
        ):
            column = getattr(self, name)
            values[name] = np.full(count, default, kind) if column is None else np.asarray(column, kind)
            if values[name].shape != (count,):
                raise ValueError(
                    f"{name} must have the shape ({count},), as xy has {count} rows; got {values[name].shape}"
                )
        for name in ("layer", "layer_fraction"):
            column = getattr(self, name)
            if (column is None) != (self.layer is None):
                raise ValueError("layer and layer_fraction must be given together")
            if column is None:
                continue
            values[name] = np.asarray(column, np.int32)
            if values[name].shape != (count,):
                raise ValueError(f"{name} must have the shape ({count},), as xy has; got {values[name].shape}")
        descriptors = np.zeros((count, 0), np.uint8) if self.descriptors is None else np.asarray(self.descriptors)
        if descriptors.dtype != np.uint8 or descriptors.ndim != 2 or len(descriptors) != count:
            raise ValueError(
                f"descriptors must be uint8 of the shape ({count}, B); got {descriptors.dtype} of {descriptors.shape}"
            )
        values["descriptors"] = descriptors
        if self.descriptor_type is None:
            try:
                values["descriptor_type"] = _TYPE_OF_BYTES[descriptors.shape[1]]
            except KeyError:
                raise ValueError(
                    f"descriptors without a descriptor_type must have 0, 4 or 32 bytes; got {descriptors.shape[1]}"
                ) from None
        else:
            values["descriptor_type"] = DescriptorType.of(self.descriptor_type)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """Number of features."""
        return len(self.xy)

    # -- the wire ------------------------------------------------------------------------------------------------------

    @classmethod
    def _from_wire(
        cls,
        where: str,
        data: Bytes,
        sent: _check.SentFrame,
        timings: Timings | None = None,
        execution: Execution | None = None,
    ) -> Features:
        """From a FeatureSet, the answer to a frame. `where`: field of the answer."""
        numbers = (_X, _Y, _SIZE, _ANGLE, _RESPONSE, _OCTAVE, _SOURCE, _LAYER, _DESCRIPTORS, _LAYER_FRACTION)
        message, found = _codec.columns(data, wire.FeatureSet, numbers)
        columns: dict[str, npt.NDArray[Any]] = {
            "x": _codec.floats(found[_X]),
            "y": _codec.floats(found[_Y]),
            "size": _codec.floats(found[_SIZE]),
            "angle": _codec.floats(found[_ANGLE]),
            "response": _codec.floats(found[_RESPONSE]),
            "octave": _codec.integers(found[_OCTAVE]),
            "source_index": _codec.integers(found[_SOURCE]),
            "layer": _codec.integers(found[_LAYER]),
            "layer_fraction": _codec.integers(found[_LAYER_FRACTION]),
            "descriptors": np.frombuffer(_codec.join(found[_DESCRIPTORS]), np.uint8),
        }
        _check.features(where, message, columns, sent)
        xy = np.empty((len(columns["x"]), 2), np.float32)
        xy[:, 0] = columns["x"]
        xy[:, 1] = columns["y"]
        source = columns["source_index"].astype(np.int32)
        octave, layer, fraction = (columns[n].astype(np.int32) for n in ("octave", "layer", "layer_fraction"))
        # The others share the memory of the answer, which cannot be written to.
        for array in (xy, octave, layer, fraction, source):
            array.flags.writeable = False
        return cls(
            xy=xy,
            size=columns["size"],
            angle=columns["angle"],
            response=columns["response"],
            octave=octave,
            descriptors=columns["descriptors"].reshape(len(xy), message.descriptor_bytes),
            image_size=(message.image_width_px, message.image_height_px),
            descriptor_type=enum_of(DescriptorType, message.descriptor_type) or DescriptorType.NONE,
            suppression_passes=message.suppression_passes if message.HasField("suppression_passes") else None,
            layer=layer if layer.size > 0 else None,
            layer_fraction=fraction if fraction.size > 0 else None,
            source_index=source if source.size > 0 else None,
            truncated=message.truncated,
            sequence=sent.sequence,
            timestamp_ns=sent.timestamp_ns,
            timings=timings,
            execution=execution,
        )

    def _to_wire(self) -> list[Bytes]:
        """The message FeatureSet in parts."""
        message = wire.FeatureSet(
            descriptor_bytes=self.descriptors.shape[1],
            image_width_px=self.image_size[0],
            image_height_px=self.image_size[1],
            descriptor_type=self.descriptor_type,
        )
        parts: list[Bytes] = [message.SerializeToString()]
        parts += _codec.float_column(_X, self.xy[:, 0]) + _codec.float_column(_Y, self.xy[:, 1])
        parts += _codec.float_column(_SIZE, self.size) + _codec.float_column(_ANGLE, self.angle)
        parts += _codec.float_column(_RESPONSE, self.response) + _codec.integer_column(_OCTAVE, self.octave)
        return parts + _codec.field(_DESCRIPTORS, self.descriptors.tobytes())

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Writes an NPZ file: the same bytes as `orbserve extract --format npz`. Uncompressed.

        A file of a path has its name only when it is whole, and a process that is killed leaves nothing of it.
        """
        arrays: dict[str, npt.NDArray[Any]] = {
            "xy": self.xy.astype("<f4", copy=False),
            "size": self.size.astype("<f4", copy=False),
            "angle": self.angle.astype("<f4", copy=False),
            "response": self.response.astype("<f4", copy=False),
            "octave": self.octave.astype("<i4", copy=False),
            "descriptors": self.descriptors,
            "image_size": np.array(self.image_size, "<i4"),
        }
        size = self.descriptors.shape[1]
        if size > 0 and self.descriptor_type != _TYPE_OF_BYTES.get(size):
            arrays["descriptor_type"] = np.array([self.descriptor_type], "<i4")
        if self.suppression_passes is not None:
            arrays["suppression_passes"] = np.array([self.suppression_passes], "<i4")
        if self.layer is not None and self.layer_fraction is not None:
            arrays["layer"] = self.layer.astype("<i4", copy=False)
            arrays["layer_fraction"] = self.layer_fraction.astype("<i4", copy=False)
        data = _npz.encode(arrays)
        if not isinstance(file, (str, os.PathLike)):
            file.write(data)
            return
        _new_file.write(file, data)

    @classmethod
    def load(cls, file: str | os.PathLike[str] | BinaryIO) -> Features:
        """Reads an NPZ file of `save()`, of the program, or of `numpy.savez` and `numpy.savez_compressed`.

        The array `xy` must be there; the others have the defaults of this class. ValueError for another file.
        """
        arrays = _npz.read(file)
        if "xy" not in arrays:
            there = shown(", ".join(arrays) or "none")
            raise ValueError(f"{shown(str(file))}: features need the array xy; there are {there}")
        names = ("xy", "size", "angle", "response", "octave", "descriptors", "layer", "layer_fraction")
        columns: dict[str, Any] = {n: arrays[n] for n in names if n in arrays}
        width, height = arrays["image_size"].tolist() if "image_size" in arrays else (0, 0)
        kind = DescriptorType(int(arrays["descriptor_type"][0])) if "descriptor_type" in arrays else None
        passes = int(arrays["suppression_passes"][0]) if "suppression_passes" in arrays else None
        values: dict[str, Any] = {"image_size": (width, height), "descriptor_type": kind, "suppression_passes": passes}
        return cls(**columns, **values)

    # -- OpenCV --------------------------------------------------------------------------------------------------------

    def to_cv2(self) -> tuple[list[cv2.KeyPoint], UInt8]:
        """Keypoints and descriptors as `cv2.Feature2D.detectAndCompute` returns them. ImportError without OpenCV.

        Octaves of SIFT are packed with their layers, as `cv2.SIFT` has them, and its descriptors are those of
        `cv2.SIFT_create(..., descriptorType=cv2.CV_8U)`.
        """
        import cv2

        octave = self.octave
        if self.layer is not None and self.layer_fraction is not None:
            octave = (octave & 0xFF) | (self.layer << 8) | (self.layer_fraction << 16)
        x, y = self.xy.T.tolist()
        columns = (self.size.tolist(), self.angle.tolist(), self.response.tolist(), octave.tolist())
        return list(map(cv2.KeyPoint, x, y, *columns)), self.descriptors

    @classmethod
    def from_cv2(
        cls,
        keypoints: Sequence[cv2.KeyPoint],
        descriptors: UInt8 | Float32 | None = None,
        *,
        image_size: tuple[int, int] = (0, 0),
        descriptor_type: DescriptorType | None = None,
    ) -> Features:
        """From keypoints and descriptors of OpenCV, for example those of `cv2.ORB`.

        With the `descriptor_type` SIFT, packed octaves of `cv2.SIFT` are taken apart, and its descriptors, whole
        numbers in float32, become bytes.
        """
        rows = [(*k.pt, k.size, k.angle, k.response, k.octave) for k in keypoints]
        columns = np.array(rows, np.float64).reshape(-1, 6)
        octave = columns[:, 5].astype(np.int32)
        layer: Int32 | None = None
        fraction: Int32 | None = None
        if descriptor_type is not None and DescriptorType.of(descriptor_type) in _SIFT_TYPES:
            if descriptors is not None:
                descriptors = np.asarray(descriptors).astype(np.uint8)
            layer = octave >> 8 & 0xFF
            fraction = octave >> 16 & 0xFF
            octave = octave.astype(np.int8).astype(np.int32)  # the lowest byte, with its sign
        return cls(
            xy=columns[:, :2].astype(np.float32),
            size=columns[:, 2].astype(np.float32),
            angle=columns[:, 3].astype(np.float32),
            response=columns[:, 4].astype(np.float32),
            octave=octave,
            descriptors=descriptors,  # type: ignore[arg-type]  # None: no descriptors
            image_size=image_size,
            descriptor_type=descriptor_type,  # type: ignore[arg-type]  # None: by the number of bytes
            layer=layer,
            layer_fraction=fraction,
        )


@dataclass(frozen=True, eq=False)
class Matches:
    """Matches as arrays with one row per match, ordered by query index, then by distance."""

    query_index: Int32
    """(M,): row of the query's features."""

    train_index: Int32
    """(M,): row of the features matched against."""

    distance: Int32
    """(M,): differing bits, 0..512; of SIFT the squared Euclidean distance, 0..8323200."""

    ratio_undefined: bool = False
    """A ratio test has a train set of only one descriptor; then nothing passes."""

    query: Features | None = field(default=None, repr=False)
    """The query's features, where they were computed or given."""

    train: Features | None = field(default=None, repr=False)
    """The train side's features, where they were computed or given; None for a reference."""

    reference_version: int = 0
    """Version of the reference that was matched against; 0 = no reference."""

    timings: Timings | None = field(default=None, repr=False)
    """Times on the server; None for the matches of a stream, whose frames have them."""

    execution: Execution | None = field(default=None, repr=False)
    """Place of the computation; None as for `timings`."""

    descriptor_type: DescriptorType | None = None
    """Kind of the descriptors that were matched; None: not known."""

    def __len__(self) -> int:
        """Number of matches."""
        return len(self.query_index)

    @classmethod
    def _from_wire(
        cls, where: str, data: Bytes, query_rows: int | None, train_rows: int | None, **values: Any
    ) -> Matches:
        """From a MatchSet. `where`: field of the answer; `query_rows`, `train_rows`: None: not known."""
        message, found = _codec.columns(data, wire.MatchSet, (1, 2, 3))
        wide = [_codec.integers(found[number]) for number in (1, 2, 3)]
        _check.matches(where, wide, query_rows, train_rows)
        query, train, distance = (column.astype(np.int32) for column in wide)
        for array in (query, train, distance):
            array.flags.writeable = False
        kind = enum_of(DescriptorType, message.descriptor_type)
        return cls(query, train, distance, message.ratio_undefined, descriptor_type=kind, **values)

    def to_cv2(self) -> list[cv2.DMatch]:
        """Matches as `cv2.DescriptorMatcher.match` returns them, of SIFT as with `cv2.NORM_L2`.

        ImportError without OpenCV.
        """
        import cv2

        distance: npt.NDArray[Any] = self.distance
        if self.descriptor_type in _SIFT_TYPES:
            distance = np.sqrt(distance.astype(np.float32))
        return list(map(cv2.DMatch, self.query_index.tolist(), self.train_index.tolist(), distance.tolist()))


match_to_cv2 = Matches.to_cv2
"""`match_to_cv2(matches)` is `matches.to_cv2()`."""
