# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Line plots as SVG. The same values give the same bytes on every machine."""

import html

WIDTH, HEIGHT = 760, 440
LEFT, TOP, BOTTOM = 62, 40, 52
LEGEND_WIDTH = 190
# Okabe and Ito's colours, which colour-blind readers can tell apart, and two greys.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"]


def number(value: float) -> str:
    """At most two decimals, none that are not needed."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def ticks(low: float, high: float) -> list[float]:
    """Round values from `low` to `high`, 5 to 11 of them."""
    step = 10.0**-9
    while (high - low) / step > 10:
        for factor in (2, 2.5, 2):
            step *= factor
            if (high - low) / step <= 10:
                break
    first = -(-low // step) * step
    count = int((high - first) / step + 1e-9) + 1
    return [round(first + i * step, 9) for i in range(count)]


def line_plot(plot: dict) -> str:
    """The text of an SVG file.

    plot: {"title", "x_label", "y_label", "x_range": [low, high], "y_range": [low, high],
    "series": [{"label", "x": [...], "y": [...], "dashed": bool, "colour": index}]}. `x_ticks` replaces
    the ticks of the x axis. Values outside the ranges are not allowed.
    """
    x_low, x_high = plot["x_range"]
    y_low, y_high = plot["y_range"]
    right = WIDTH - LEGEND_WIDTH
    bottom = HEIGHT - BOTTOM

    def at_x(value: float) -> float:
        return LEFT + (value - x_low) / (x_high - x_low) * (right - LEFT)

    def at_y(value: float) -> float:
        return bottom - (value - y_low) / (y_high - y_low) * (bottom - TOP)

    def text(x: float, y: float, words: str, more: str = "") -> str:
        return f'<text x="{number(x)}" y="{number(y)}"{more}>{html.escape(words)}</text>'

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        f"<title>{html.escape(plot['title'])}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(LEFT, 24, plot["title"], ' font-size="15"'),
    ]
    for value in plot.get("x_ticks") or ticks(x_low, x_high):
        x = number(at_x(value))
        lines.append(f'<path d="M{x} {TOP}V{bottom}" stroke="#e0e0e0"/>')
        lines.append(text(at_x(value), bottom + 18, number(value), ' text-anchor="middle"'))
    for value in ticks(y_low, y_high):
        y = number(at_y(value))
        lines.append(f'<path d="M{LEFT} {y}H{right}" stroke="#e0e0e0"/>')
        lines.append(text(LEFT - 8, at_y(value) + 4, number(value), ' text-anchor="end"'))
    lines.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#000000"/>')
    lines.append(text((LEFT + right) / 2, HEIGHT - 12, plot["x_label"], ' text-anchor="middle"'))
    middle = number((TOP + bottom) / 2)
    lines.append(
        text(16, (TOP + bottom) / 2, plot["y_label"], f' text-anchor="middle" transform="rotate(-90 16 {middle})"')
    )
    for i, series in enumerate(plot["series"]):
        colour = COLOURS[series["colour"]]
        dash = ' stroke-dasharray="6 3"' if series["dashed"] else ""
        for x, y in zip(series["x"], series["y"], strict=True):
            if not (x_low <= x <= x_high and y_low <= y <= y_high):
                raise ValueError(f"{plot['title']}: ({x}, {y}) of {series['label']} lies outside the axes")
        points = " ".join(
            f"{number(at_x(x))},{number(at_y(y))}" for x, y in zip(series["x"], series["y"], strict=True)
        )
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
        y = TOP + 10 + 20 * i
        lines.append(
            f'<path d="M{right + 14} {y}H{right + 42}" stroke="{colour}" stroke-width="2.4"{dash}/>'
        )
        lines.append(text(right + 48, y + 4, series["label"]))
    lines.append("</svg>")
    return "\n".join(lines) + "\n"
