"""Options that `cxlab run`, `boot` and `replay` share: which instructions are followed in detail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

sampling_options: list[Callable[[Any], Any]] = [
    click.option(
        "--sample",
        metavar="detail=N,warm=N,every=N",
        help="Follow windows of detail instructions, one in every so many, each behind a warm-up in detail; "
        "between them only caches and predictor are kept warm. detail=1M,warm=2M,every=100M",
    ),
    click.option(
        "--sample-seed",
        type=click.IntRange(min=0, max=2**63 - 1),
        default=0,
        show_default=True,
        metavar="N",
        help="Draws where the first window is.",
    ),
]
