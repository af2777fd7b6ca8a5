# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and plots of docs/quality.md."""

import planes
import pose
import tracks
from methods import OPENCV, PRESETS
from report import Report

RIGHT_PX = 3  # distance of the tables that have one distance only
ACCURACY_PX = [1, 3, 5, 10]
BUDGET_NAMES = {0: "own", 2000: "2000"}


def of_distance(values: list[float], distance_px: int) -> str:
    return f"{values[planes.DISTANCES.index(distance_px)]:.3f}"


def rounded(value):
    """Values for the JSON file: six decimals are more than the pages show."""
    if isinstance(value, dict):
        return {str(key): rounded(v) for key, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return round(value, 6) if isinstance(value, float) else value


def plane_row(name: str, shares: dict) -> list[str]:
    row = [f"`{name}`", f"{shares['keypoints']:.0f}", of_distance(shares["repeatability"], RIGHT_PX)]
    if "accuracy" not in shares:
        return row + ["–"] * (1 + len(ACCURACY_PX))
    row.append(of_distance(shares["matching_score"], RIGHT_PX))
    return row + [of_distance(shares["accuracy"], px) for px in ACCURACY_PX]


def curves(of_methods: dict[str, dict], measure: str) -> list[dict]:
    """Series of a plot: presets solid, OpenCV's methods dashed."""
    return [
        {
            "label": name,
            "x": planes.DISTANCES,
            "y": [round(v, 4) for v in shares[measure]],
            "dashed": name in OPENCV,
            "colour": OPENCV.index(name) if name in OPENCV else PRESETS.index(name),
        }
        for name, shares in of_methods.items()
        if measure in shares
    ]


def write_planes(report: Report, results: dict, families: dict[str, list[str]]) -> None:
    values: dict = {}
    for budget, of_methods in results.items():
        name_of_budget = BUDGET_NAMES[budget]
        groups = families | {"all": [s for sets in families.values() for s in sets]}
        shares = {
            group: {
                method: planes.shares([pair for s in sets for pair in cells[s]["pairs"]])
                for method, cells in of_methods.items()
            }
            for group, sets in groups.items()
        }
        of_sets = {
            method: {s: planes.shares(cell["pairs"]) for s, cell in cells.items()}
            for method, cells in of_methods.items()
        }
        values[name_of_budget] = {"groups": shares, "sets": of_sets}
        for family in families:
            report.table(
                f"{family}_{name_of_budget}",
                ["", "keypoints", f"repeatability, {RIGHT_PX} px", f"matching score, {RIGHT_PX} px"]
                + [f"accuracy, {px} px" for px in ACCURACY_PX],
                [plane_row(method, s) for method, s in shares[family].items()],
            )
        for measure, title in (("repeatability", "Repeatability"), ("accuracy", "Matching accuracy")):
            names = groups["all"]
            report.table(
                f"{measure}_{name_of_budget}",
                [f"{RIGHT_PX} px"] + names,
                [
                    [f"`{method}`"] + [of_distance(of_sets[method][s][measure], RIGHT_PX) for s in names]
                    for method in of_methods
                    if measure in shares["all"][method]
                ],
            )
            whose = "own numbers of features" if budget == 0 else f"{budget} features"
            report.plot(
                f"{measure}_{name_of_budget}",
                title=f"{title}, Oxford and HPatches, {whose}",
                x_label="distance, pixels", y_label="mean over pairs of images",
                x_range=[1, 10], y_range=[0, 1], x_ticks=planes.DISTANCES,
                series=curves(shares["all"], measure),
            )  # fmt: skip
    report.values("planes", rounded(values))


def pose_row(name: str, cells: dict) -> list[str]:
    row = [name]
    for cell in cells.values():
        s = pose.summary(cell["pairs"])
        row.append(" / ".join(f"{100 * v:.1f}" for v in s["auc"]))
        row.append(f"{s['median_rotation_deg']:.2f}°, {s['median_direction_deg']:.1f}°")
        row.append(f"{s['points']:.0f}, {s['inliers']:.0f}")
    return row


def pose_columns() -> list[str]:
    columns = [""]
    for name in pose.GAPS:
        columns += [f"{name}: AUC {' / '.join(f'{d}°' for d in pose.LIMITS_DEG)}", "median rotation, direction",
                    "points, inliers"]  # fmt: skip
    return columns


def pose_summaries(of_methods: dict) -> dict:
    return {
        name: {s: pose.summary(cell["pairs"]) for s, cell in cells.items()} for name, cells in of_methods.items()
    }


def write_matched_poses(report: Report, results: dict) -> dict:
    """Tables by numbers of features; returns the summaries."""
    for budget, of_methods in results.items():
        rows = [pose_row(f"`{name}`", cells) for name, cells in of_methods.items()]
        report.table(f"pose_{BUDGET_NAMES[budget]}", pose_columns(), rows)
    return {BUDGET_NAMES[budget]: pose_summaries(of_methods) for budget, of_methods in results.items()}


def write_pose(report: Report, results: dict, tracked: dict) -> None:
    summaries = write_matched_poses(report, results)
    report.table("pose_tracked", pose_columns(), [pose_row(tracker_name(n), cells) for n, cells in tracked.items()])
    summaries["tracked"] = pose_summaries(tracked)
    report.values("pose", rounded(summaries))


def write_poses(results: dict, twice: bool) -> None:
    """The report of relative poses alone. `results`: {features: {method: {sequence: cell}}}."""
    report = Report("quality_poses", "bench/quality/run --data FOLDER --poses")
    cells = sum(len(of_method) for of_methods in results.values() for of_method in of_methods.values())
    if twice:
        report.sentence("twice", f"Two runs computed everything anew, and all {cells} cells were equal.")
    report.values("pose", rounded(write_matched_poses(report, results)))
    report.write()


def write_descriptors(results: dict, families: dict[str, list[str]], twice: bool) -> None:
    """The report of presets with other descriptors. `results`: of Run.descriptors()."""
    report = Report("quality_descriptors", "bench/quality/run --data FOLDER --descriptors")
    if twice:
        cells = sum(len(cells) for of_methods in results.values() for cells in of_methods.values())
        report.sentence("twice", f"Two runs computed everything anew, and all {cells} cells were equal.")
    shares = {
        family: {
            method: planes.shares([pair for s in sets for pair in cells[s]["pairs"]])
            for method, cells in results["planes"].items()
        }
        for family, sets in families.items()
    }
    report.table(
        "planes",
        [""] + [f"{family}: {column}" for family in families for column in ("matching score, 3 px", "accuracy, 3 px")],
        [
            [tracker_name(method)]
            + [of_distance(shares[f][method][m], RIGHT_PX) for f in families for m in ("matching_score", "accuracy")]
            for method in results["planes"]
        ],
    )
    report.table("pose", pose_columns(), [pose_row(tracker_name(n), cells) for n, cells in results["pose"].items()])
    poses = pose_summaries(results["pose"])
    limit = pose.LIMITS_DEG[0]
    report.table(
        "summary",
        [f"accuracy at {RIGHT_PX} px, AUC at {limit}°"] + list(families) + list(pose.GAPS),
        [
            [tracker_name(method)]
            + [of_distance(shares[f][method]["accuracy"], RIGHT_PX) for f in families]
            + [f"{100 * poses[method][s]['auc'][0]:.1f}" for s in pose.GAPS]
            for method in results["planes"]
        ],
    )
    report.values("planes", rounded(shares))
    report.values("pose", rounded(poses))
    report.write()


def tracker_name(name: str) -> str:
    """The first word is the name of a preset or function."""
    first, _, rest = name.partition(",")
    return f"`{first}`" + (f",{rest}" if rest else "")


def write_tracks(report: Report, flights: dict, sequences: dict) -> None:
    summaries = {
        light: {name: tracks.flight_summary(list(cells.values())) for name, cells in of_trackers.items()}
        for light, of_trackers in flights.items()
    }
    after = " / ".join(str(h) for h in tracks.ERROR_FRAMES)
    for light, of_trackers in summaries.items():
        report.table(
            f"flights_{light}",
            ["", "tracks", f"life, of {tracks.LIFE_FRAMES['flight']} frames", "as a right track",
             f"right after {after} frames", f"median error after {after} frames, px", "mean error, px"],
            [
                [
                    tracker_name(name), str(s["tracks"]), f"{s['life']:.1f}", f"{s['right_life']:.1f}",
                    " / ".join(f"{100 * v:.1f} %" for v in s["right_share"]),
                    " / ".join(f"{v:.3f}" for v in s["median_error_px"]),
                    " / ".join(f"{v:.3f}" for v in s["mean_error_px"]),
                ]
                for name, s in of_trackers.items()
            ],
        )  # fmt: skip
    columns = [""]
    first = next(iter(sequences.values()))
    for name in first:
        columns += [f"{name}: life, of {tracks.LIFE_FRAMES[name]} frames",
                    f"steps within {tracks.RIGHT_PX[name]:.0f} px", "right tracks a frame"]  # fmt: skip
    rows = []
    for name, cells in sequences.items():
        row = [tracker_name(name)]
        for cell in cells.values():
            row += [f"{cell['life']:.2f}", f"{100 * cell['inlier_share']:.1f} %", f"{cell['right_a_frame']:.1f}"]
        rows.append(row)
    report.table("tracks", columns, rows)
    report.values("flights", rounded(summaries))
    report.values("tracks", rounded(sequences))


def write_report(results: dict, families: dict[str, list[str]], cell_count: int, twice: bool) -> None:
    """`results`: of Run.all(); `families`: sets of planes by the name of their collection."""
    report = Report("quality", "bench/quality/run --data FOLDER")
    compared = sum(len(of_methods["orb"]) for e in ("planes", "pose") for of_methods in results[e].values())
    report.sentence("equal", f"`orb` and `cv::ORB` are equal in all {compared} cells that they have.")
    if twice:
        report.sentence("twice", f"Two runs computed everything anew, and all {cell_count} cells were equal.")
    write_planes(report, results["planes"], families)
    write_pose(report, results["pose"], results["tracked_pose"])
    write_tracks(report, results["flights"], results["tracks"])
    report.write()
