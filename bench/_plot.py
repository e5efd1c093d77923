"""Plots as SVG, without a library: bars from a table, curves on logarithmic axes."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

WIDTH = 760
LABEL = 190
ROW = 22
COLOURS = ("#2f6fb0", "#d9822b", "#4d9a5b", "#8a5fb0", "#7a7a7a", "#2aa198")
STRONG = "#b03a2e"
_FONT = 'font-family="sans-serif" font-size="12"'


def bars(
    title: str,
    groups: Sequence[tuple[str, Sequence[float | None]]],
    names: Sequence[str],
    *,
    is_log: bool = False,
    marked: str = "",
) -> str:
    """Draw a group of bars for each row; None is a gap. Rows that begin with `marked` stand out."""
    values = [value for _, row in groups for value in row if value]
    scale = _scale(values, is_log=is_log)
    height = 60 + sum(ROW * len(row) + 6 for _, row in groups)
    parts, top = [_text(10, 20, title, weight="bold")], 44
    parts += [_text(LABEL + 130 * place, 36, name, COLOURS[place]) for place, name in enumerate(names) if name]
    for label, row in groups:
        is_marked = bool(marked) and label.startswith(marked)
        parts.append(
            _text(LABEL - 8, top + ROW * len(row) / 2 + 4, label, anchor="end", weight="bold" if is_marked else "")
        )
        for place, value in enumerate(row):
            colour = STRONG if is_marked and len(names) == 1 else COLOURS[place]
            parts += _bar(top + place * ROW, value, scale(value) if value else 0, colour, is_marked=is_marked)
        top += ROW * len(row) + 6
    return _svg(height, parts)


def _bar(top: float, value: float | None, length: float, colour: str, *, is_marked: bool) -> list[str]:
    if value is None:
        return [_text(LABEL, top + 15, "-", "#999")]
    box = f'<rect x="{LABEL}" y="{top + 3}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>'
    return [box, _text(LABEL + length + 5, top + 15, short(value), weight="bold" if is_marked else "")]


def _scale(values: Sequence[float], *, is_log: bool) -> "_Scale":
    low, high = min(values, default=1), max(values, default=1)
    return _Scale(low / 2 if is_log else 0, high, WIDTH - LABEL - 70, is_log=is_log)


class _Scale:
    def __init__(self, low: float, high: float, length: float, *, is_log: bool) -> None:
        self._is_log = is_log
        self._low, self._length = self._at(low), length
        self._span = (self._at(high) - self._low) or 1

    def __call__(self, value: float) -> float:
        return self._length * (self._at(value) - self._low) / self._span

    def _at(self, value: float) -> float:
        return math.log10(value) if self._is_log else value


def curves(title: str, x_name: str, y_name: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw curves on two logarithmic axes."""
    points = [point for line in series.values() for point in line]
    left, bottom, width, height = 70, 330, WIDTH - 240, 270
    xs, ys = [x for x, _ in points], [y for _, y in points]
    across = _Scale(min(xs), max(xs), width, is_log=True)
    up = _Scale(_decade(min(ys), math.floor), _decade(max(ys), math.ceil), height, is_log=True)
    parts = [_text(10, 20, title, weight="bold"), _text(left + width / 2, bottom + 40, x_name, anchor="middle")]
    parts += [_text(10, 44, y_name)]
    for x in sorted(set(xs)):
        parts.append(_line(left + across(x), bottom, left + across(x), bottom - height, "#ddd"))
        parts.append(_text(left + across(x), bottom + 18, short(x), anchor="middle"))
    tick = _decade(min(ys), math.floor)
    while tick <= _decade(max(ys), math.ceil) * 1.01:
        parts.append(_line(left, bottom - up(tick), left + width, bottom - up(tick), "#ddd"))
        parts.append(_text(left - 8, bottom - up(tick) + 4, short(tick), anchor="end"))
        tick *= 10
    for place, (name, line) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        spots = [(left + across(x), bottom - up(y)) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in spots]
        parts.append(_text(left + width + 16, 70 + 20 * place, name, colour))
    return _svg(bottom + 50, parts)


def reliability(title: str, series: Mapping[str, Sequence[tuple[float, float, int]]]) -> str:
    """Draw which share of the results was right (up) of those with a chance (across), beside the ideal diagonal."""
    left, bottom, side = 70, 400, 340
    parts = [_text(10, 20, title, weight="bold"), _text(left + side / 2, bottom + 40, "score", anchor="middle")]
    parts += [_text(10, 44, "share that is right"), _line(left, bottom, left + side, bottom - side, "#999")]
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(_line(left, bottom - tick * side, left + side, bottom - tick * side, "#ddd"))
        parts.append(_text(left - 8, bottom - tick * side + 4, short(tick), anchor="end"))
        parts.append(_text(left + tick * side, bottom + 18, short(tick), anchor="middle"))
    for place, (name, line) in enumerate(series.items()):
        spots = [(left + chance * side, bottom - share * side) for chance, share, _ in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        colour = COLOURS[place % len(COLOURS)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in spots]
        parts.append(_text(left + side + 30, 70 + 20 * place, name, colour))
    return _svg(bottom + 50, parts)


def short(value: float) -> str:
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _decade(value: float, rounding: Callable[[float], int]) -> float:
    return 10.0 ** rounding(math.log10(value))


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, colour: str = "#222", *, anchor: str = "start", weight: str = "") -> str:
    style = f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" {_FONT}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])
