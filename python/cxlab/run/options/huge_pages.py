"""Huge pages of the guest's Linux: ``--huge-pages``; see crates/guest-init/src/huge_pages.rs."""

from __future__ import annotations

import click

from cxlab.run.options.option import Context, Effect, Option

#: Debian's kernel is built with this one (CONFIG_TRANSPARENT_HUGEPAGE_ALWAYS): the guest need not be told.
ALWAYS = "always"
MADVISE = "madvise"
NEVER = "never"


def _effect(choice: str, _: Context) -> Effect:
    return Effect(config={"huge_pages": choice}, guest={} if choice == ALWAYS else {"huge_pages": choice})


OPTION: Option[str] = Option(
    "--huge-pages",
    f"Who gets pages of 2 MiB: `{ALWAYS}` every program that touches enough, as on Debian; `{MADVISE}` "
    f"programs that ask by madvise, as on Ubuntu; `{NEVER}` nobody.",
    {"type": click.Choice([ALWAYS, MADVISE, NEVER]), "default": ALWAYS, "show_default": True},
    _effect,
)
