"""The whole description of a machine, a tree without types. Only this module reads it by key.

`cxlab.border.MachineFigures` has the key figures as typed fields. Its ``spec`` is everything else that the
machine's files say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: What a node of the machine's own socket says of its place.
OWN_SOCKET = "own"


@dataclass(frozen=True)
class NodeDescription:
    """A node of the machine."""

    tree: Mapping[str, Any]

    @property
    def is_remote(self) -> bool:
        """Whether it is at the other socket."""
        return bool(self.tree["socket"] != OWN_SOCKET)

    @property
    def link(self) -> tuple[str, str] | None:
        """Width and rate of its CXL links, as in x8 and 32 GT/s; None: it has none, or not these."""
        link = (self.tree.get("expander") or {}).get("link") or {}
        lanes, rate = link.get("lanes"), link.get("rate")
        return None if lanes is None or rate is None else (str(lanes["value"]), str(rate["value"]))


@dataclass(frozen=True)
class Description:
    """A machine, in all that its files say."""

    tree: Mapping[str, Any]

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Description:
        """The description in a machine's document, as config.json has it."""
        return cls(document["spec"])

    @property
    def nodes(self) -> list[NodeDescription]:
        """The nodes, in the order of the machine's file."""
        return [NodeDescription(node) for node in self.tree["nodes"]]

    def count(self, *path: str) -> int:
        """A number with its source, by the names on its way, as in ``"host", "core", "fill_buffers"``."""
        return int(self._value(*path))

    def _value(self, *path: str) -> Any:
        tree: Any = self.tree
        for name in path:
            tree = tree[name]
        return tree["value"]
