"""The report's figures: PNG bytes that are the same at every run, one for light pages and one for dark ones."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

_WIDTH, _DPI = 8.0, 150
_LABEL = 30
"""The most characters of a name beside a bar; the table holds the whole name."""


@dataclass(frozen=True)
class Palette:
    """Colours of one scheme; kept and removed stay apart for colour-blind readers (Okabe and Ito)."""

    ground: str
    ink: str
    soft: str
    grid: str
    kept: str
    removed: str
    plain: str


LIGHT = Palette("#ffffff", "#1f2328", "#59636e", "#d8dee4", "#0072b2", "#d55e00", "#8b949e")
DARK = Palette("#161b22", "#e6edf3", "#a8b2bd", "#30363d", "#56b4e9", "#f08c3a", "#7d8590")


@dataclass(frozen=True)
class Picture:
    """One figure as two PNG files."""

    light: bytes
    dark: bytes


@dataclass(frozen=True)
class Bar:
    """A share with its interval.

    Attributes:
        label: What is counted.
        note: What stands behind the bar.
        share: From 0 to 1.
        low: The interval's lower end.
        high: Its upper end.
        side: `above` or `below` where the interval excludes the base rate, or empty.
    """

    label: str
    note: str
    share: float
    low: float
    high: float
    side: str


def share_bars(bars: Sequence[Bar], base: float) -> Picture:
    """Horizontal bars with their intervals, the first on top, and the base rate as a line."""

    def draw(axes: Axes, colours: Palette) -> None:
        paint = {"above": colours.removed, "below": colours.kept, "": colours.plain}
        places = np.arange(len(bars))
        shares = np.array([bar.share for bar in bars])
        arms = [shares - [bar.low for bar in bars], [bar.high for bar in bars] - shares]
        axes.barh(places, shares, height=0.62, color=[paint[bar.side] for bar in bars])
        axes.errorbar(
            shares, places, xerr=np.maximum(arms, 0), fmt="none", ecolor=colours.ink, elinewidth=1.3, capsize=3.5
        )
        axes.axvline(base, color=colours.ink, linestyle="--", linewidth=1.2)
        axes.set_yticks(places, [_short(bar.label) for bar in bars], parse_math=False)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_xlim(0, min(max(*(bar.high for bar in bars), base) * 1.06 + 0.01, 1.02))
        notes = axes.secondary_yaxis("right")
        notes.set_yticks(places, [bar.note for bar in bars])
        notes.tick_params(length=0, colors=colours.soft)
        notes.spines["right"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
        axes.set_xlabel(f"share removed; whiskers: 95 % interval; dashed: base rate {base:.1%}")

    return _picture(draw, 1.15 + 0.36 * len(bars))


def score_histogram(kept: np.ndarray, removed: np.ndarray, cut: float | None) -> Picture:
    """Sieved rows by score, removed on top of kept, and the cut as a line where there is one."""

    def draw(axes: Axes, colours: Palette) -> None:
        edges = np.histogram_bin_edges(np.r_[kept, removed], bins=_bins(len(kept) + len(removed)))
        if cut is not None:  # one edge on the cut; one bin more, so that no row falls outside
            edges = np.r_[edges, 2 * edges[-1] - edges[-2]]
            edges -= edges[np.searchsorted(edges, cut)] - cut
        below, above = (np.histogram(values, edges)[0] for values in (kept, removed))
        axes.stairs(below, edges, fill=True, color=colours.kept, label=f"kept ({len(kept):,})")
        axes.stairs(
            below + above,
            edges,
            baseline=below,
            fill=True,
            color=colours.removed,
            label=f"removed ({len(removed):,})",
        )
        if cut is not None:
            axes.axvline(cut, color=colours.ink, linestyle="--", linewidth=1.4, label=f"cut at {cut:.4g}")
        axes.set_xlabel("score: similarity to the target set")
        axes.set_ylabel("rows")
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        _legend(axes, colours)

    return _picture(draw, 3.3)


def two_histograms(kept: np.ndarray, removed: np.ndarray, label: str, *, spread: float = np.inf) -> Picture:
    """How kept and how removed rows spread over a value, each as shares of its own rows.

    Args:
        kept: `[kept rows]`.
        removed: `[removed rows]`.
        label: What the value is.
        spread: From this quotient of the largest and the smallest value on, the axis is logarithmic.
    """

    def draw(axes: Axes, colours: Palette) -> None:
        both = np.r_[kept, removed].astype(float)
        low, high = both.min(), both.max()
        bins = _bins(min(len(kept), len(removed)) or len(both))
        edges = np.histogram_bin_edges(both, bins=bins)
        if low > 0 and high / low >= spread:
            edges = np.geomspace(low, high * (1 + 1e-9), bins + 1)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        for values, colour, name, line in (
            (kept, colours.kept, "kept", "-"),
            (removed, colours.removed, "removed", "--"),
        ):
            if len(values):
                shares = np.histogram(values, edges)[0] / len(values)
                axes.stairs(shares, edges, fill=True, color=colour, alpha=0.22)
                axes.stairs(
                    shares, edges, color=colour, linewidth=2, linestyle=line, label=f"{name} ({len(values):,})"
                )
        axes.set_xlabel(label)
        axes.set_ylabel("share of its rows")
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        _legend(axes, colours)

    return _picture(draw, 2.9)


def _picture(draw: Callable[[Axes, Palette], None], height: float) -> Picture:
    return Picture(*(_png(draw, height, colours) for colours in (LIGHT, DARK)))


def _png(draw: Callable[[Axes, Palette], None], height: float, colours: Palette) -> bytes:
    stream = io.BytesIO()
    with style.context("default"), warnings.catch_warnings():  # nobody's matplotlibrc changes the bytes
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the table beside the figure has the name in full
        figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained", facecolor=colours.ground)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(facecolor=colours.ground)
        axes.set_axisbelow(True)
        axes.grid(color=colours.grid, linewidth=0.8)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(colours.soft)
        axes.tick_params(colors=colours.ink, labelsize=10.5)
        axes.xaxis.label.set(color=colours.soft, size=10.5)
        axes.yaxis.label.set(color=colours.soft, size=10.5)
        draw(axes, colours)
        figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _legend(axes: Axes, colours: Palette) -> None:
    axes.legend(
        frameon=False, fontsize=10.5, labelcolor=colours.ink, loc="lower left", bbox_to_anchor=(0, 1), ncols=3
    )


def _bins(rows: int) -> int:
    return int(np.clip(np.ceil(2 * np.sqrt(rows)), 5, 40))


def _short(name: str) -> str:
    """The name with its middle left out where it is long: both ends tell names apart."""
    half = _LABEL // 2
    return name if len(name) <= _LABEL else f"{name[: half - 1]}…{name[-half:]}"


def privacy_and_utility(points: Sequence[tuple[str, float, float]]) -> Picture:
    """Detectors by what they hide and what they leave alone; the best stand at the top right.

    Args:
        points: Of each detector its name, the share of personal characters that it hides, and the share of maths
            messages that it leaves as they were.
    """

    def draw(axes: Axes, colours: Palette) -> None:
        order = sorted(range(len(points)), key=lambda i: (-points[i][2], -points[i][1]))
        for slot, i in enumerate(order):
            name, hidden, left = points[i]
            axes.plot(hidden, left, "o", color=colours.kept, markersize=8)
            axes.annotate(
                name,
                (hidden, left),
                (1.03, 1 - (slot + 0.5) / len(points)),
                textcoords="axes fraction",
                color=colours.ink,
                fontsize=9.5,
                verticalalignment="center",
                parse_math=False,
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": colours.plain, "linewidth": 0.7, "relpos": (0, 0.5)},
            )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        axes.margins(0.08)
        axes.set_xlabel("privacy: personal characters hidden")
        axes.set_ylabel("utility: maths messages left alone")

    return _picture(draw, max(3.6, 1.6 + 0.3 * len(points)))
