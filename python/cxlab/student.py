"""Student's t: the distance that the truth may have from the mean of a few values."""

from __future__ import annotations

from scipy import stats

#: Of all intervals but those of sampled runs, which say their own.
CONFIDENCE = 0.95


def reach(freedom: int) -> float:
    """Standard errors that an interval reaches to either side, by the degrees of freedom."""
    return float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom))
