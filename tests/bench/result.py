"""What a measure says: a figure, the ceiling beside it, their ratio, and whether that is enough."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import quantiles


@dataclass(frozen=True, slots=True)
class Result:
    """`must` and `aim` bound the `ratio`: from below, or from above where less is better."""

    name: str
    measured: str
    beside: str
    ratio: float | None = None
    must: float | None = None
    aim: float | None = None
    less_is_better: bool = False

    @property
    def verdict(self) -> str:
        if self.ratio is None or self.must is None:
            return ""
        if self.aim is not None and self._reaches(self.aim):
            return "aim"
        return "must" if self._reaches(self.must) else "MISSED"

    def _reaches(self, bound: float) -> bool:
        assert self.ratio is not None
        return self.ratio <= bound if self.less_is_better else self.ratio >= bound


def p50(taken: Sequence[float]) -> float:
    return sorted(taken)[len(taken) // 2]


def p99(taken: Sequence[float]) -> float:
    return quantiles(taken, n=100)[98]


def micros(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s"


def table(results: Sequence[Result]) -> str:
    heads = ("measure", "measured", "beside", "ratio", "must", "aim", "reached")
    rows = [heads, *(_cells(one) for one in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _cells(one: Result) -> tuple[str, ...]:
    sign = "≤ " if one.less_is_better else "≥ "
    bounds = [f"{sign}{bound:g}" if bound is not None else "" for bound in (one.must, one.aim)]
    return one.name, one.measured, one.beside, "" if one.ratio is None else f"{one.ratio:.2f}", *bounds, one.verdict


def as_json(results: Sequence[Result]) -> list[dict[str, object]]:
    return [{**asdict(one), "verdict": one.verdict} for one in results]


_BAR, _LEFT, _SCALE = 22, 420, 260


def as_svg(results: Sequence[Result]) -> str:
    """A bar for each ratio, as a share of what it must be, the greater the better; the line is the must, the dot the
    aim."""
    shown = [one for one in results if one.ratio and one.must]
    height = _BAR * (len(shown) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + 3 * _SCALE}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<line x1="{_LEFT + _SCALE}" x2="{_LEFT + _SCALE}" y1="0" y2="{height - _BAR}" stroke="#c33"/>',
        f'<text x="{_LEFT + _SCALE + 4}" y="{height - 6}" fill="#c33">must</text>',
    ]
    for number, one in enumerate(shown):
        assert one.ratio is not None
        top = _BAR * number + 4
        width = min(3.0, _share(one, one.ratio)) * _SCALE
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 12}" text-anchor="end">{_escaped(one.name)}</text>')
        parts.append(f'<rect x="{_LEFT}" y="{top}" width="{width:.0f}" height="{_BAR - 8}" fill="#47a"/>')
        parts.append(f'<text x="{_LEFT + 6}" y="{top + 12}" fill="#fff">{one.ratio:.2f}</text>')
        if one.aim is not None:
            parts.append(f'<circle cx="{_LEFT + _share(one, one.aim) * _SCALE:.0f}" cy="{top + 7}" r="4" fill="#3a3"/>')
    return "\n".join([*parts, "</svg>\n"])


def _share(one: Result, ratio: float) -> float:
    assert one.must is not None
    return one.must / ratio if one.less_is_better else ratio / one.must


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
