"""Platforms, fits, simulations and forecasts for people: text and pictures."""

from __future__ import annotations

from collections.abc import Sequence

from stretto.counted import counted, sized
from stretto.files.forecast import ForecastFile
from stretto.measure.show import columns
from stretto.model.fit import Fit
from stretto.model.forecast import WIDEST
from stretto.model.platform import WORDS
from stretto.model.sweep import NATIVE, Answer, crossovers


def word_of(name: str, value: float) -> float | str:
    """Return a parameter's word, where its numbers stand for words; else its value."""
    return WORDS[name][int(value)] if name in WORDS else value


def quantity(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return value
    if unit == "s":
        return f"{value * 1e6:.4g} us"
    if unit == "s/B":
        return f"{1e-9 / value:.4g} GB/s" if value > 0 else "free"
    if unit == "B":
        return "any size" if value >= 1e15 else sized(value)
    return f"{value:.6g}" + (" /s" if unit == "1/s" else "")


def fit_lines(fit: Fit) -> list[str]:
    rows = [["curve", "bytes", "measured", "fitted", "fitted time / measured"]]
    for r in fit.residuals:
        rows.append(
            [r.kind, sized(r.bytes), f"{r.measured:.4g} {r.unit}", f"{r.fitted:.4g} {r.unit}",
             f"{r.ratio:.2f}"]
        )  # fmt: skip
    return [
        *columns(rows, 1),
        f"median factor {fit.median_factor:.2f} over {counted(len(rows) - 1, 'value')}",
    ]


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"


def answer_lines(answers: Sequence[Answer], top: int) -> list[str]:
    shown = "best" if all(a.chosen is None for a in answers) else "table"
    rows = [["collective", "nodes x ppn", "bytes", shown, "us", "native", "us", "gain", "bound"]]
    for a in answers:
        best, native = a.seconds[a.taken], a.seconds[NATIVE]
        rows.append([
            a.cell.collective, f"{a.cell.nodes} x {a.cell.ppn}", sized(a.cell.bytes), a.taken,
            _us(best), a.native_is, _us(native), f"x{native / best:.2f}",
            f"{best / a.bound:.2f} of {_us(a.bound)}" if a.bound else "",
        ])  # fmt: skip
    out = ["simulated, not measured (us per call)", *columns(rows, 1)]
    if len(answers) == 1 and top:
        ranking = sorted(answers[0].seconds.items(), key=lambda item: (item[1], item[0]))
        out += ["", "all candidates:"]
        out += [f"  {_us(t):>8} us  {c}" for c, t in ranking[:top]]
        if answers[0].bound is not None:
            out += [f"no algorithm can be below {_us(answers[0].bound)} us: {answers[0].bound_why}"]
    for a, b in crossovers(answers):
        out.append(
            f"{a.cell.collective}, {a.cell.nodes} x {a.cell.ppn}: {a.taken} up to "
            f"{sized(a.cell.bytes)}, {b.taken} from {sized(b.cell.bytes)}"
        )
    return out


def forecast_lines(forecast: ForecastFile) -> list[str]:
    rows = [["nodes x ppn", "cores", "native s", "interval", "collectives", "tuned s", "interval",
             "gain", "interval"]]  # fmt: skip
    for s in forecast.scales:
        rows.append([
            f"{s.nodes} x {s.ppn}", str(s.ranks), f"{s.native.total_s:.4g}",
            "{:.3g}-{:.3g}".format(*s.native_interval_s), f"{100 * s.collectives:.0f} %",
            f"{s.tuned.total_s:.4g}", "{:.3g}-{:.3g}".format(*s.tuned_interval_s),
            *((f"{100 * s.gain:.1f} %", " to ".join(f"{100 * x:.1f} %" for x in s.gain_interval))
              if forecast.claims_gain(s) else ("not claimed", "")),
        ])  # fmt: skip
    out = [forecast.note, "simulated, not measured", *columns(rows, 1)]
    out += [
        f"trend of the measured runs at {s.ranks} ranks: {{:.4g}} s ({{:.3g}} to {{:.3g}})".format(
            *s.trend_s
        )
        for s in forecast.scales
        if s.trend_s is not None
    ]
    runs = ", ".join(map(str, forecast.trend_of))
    out += [
        f"no trend at {s.ranks} ranks: the runs on {runs} ranks do not agree (interval wider than "
        f"x{WIDEST:g})"
        for s in forecast.scales
        if s.trend_s is None and s.ranks > max(forecast.trend_of, default=s.ranks)
    ]
    out += forecast.cautions
    for tuned in (False, True) if len(forecast.scales) > 1 else ():  # one point has no trend
        turn = forecast.turning_point(tuned)
        what = "tuned" if tuned else "native"
        out.append(
            f"{what}: still faster at the largest size simulated"
            if turn is None
            else f"{what}: more than {turn.ranks} cores make it slower"
        )
    return out
