"""Student's t: the distance that the truth may have from the mean of a few values."""

from __future__ import annotations

#: Of all intervals but those of sampled runs, which say their own.
CONFIDENCE = 0.95


def reach(freedom: int) -> float:
    """Standard errors that an interval reaches to either side, by the degrees of freedom."""
    # To read scipy.stats takes four times as long. A command that shows no interval needs neither.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2))
