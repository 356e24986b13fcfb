"""The lineage as a picture: an SVG that a strict CSP shows and a screen reader can read.

No style stands in it, only classes of the admin stylesheet, so that it follows light and dark.
"""

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID
from xml.sax.saxutils import escape

from evolution.breeding.lineage import Lineage, LineageNode
from models.lifecycle import Status

MOST_DRAWN = 40
"""Genomes; more cannot be read. What serves or served and its ancestors come first."""

_WIDTH, _HEIGHT = 196, 54
_COLUMN, _ROW = 264, 70
_MARGIN = 12
_CHARS = 25
"""Of small type, in a node's width."""

_KINDS = {
    Status.ACTIVE: "good",
    Status.PENDING_APPROVAL: "warn",
    Status.REJECTED: "bad",
}
_WORDS = {Status.PENDING_APPROVAL: "waiting"}
_UNDRAWABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML forbids."""


@dataclass(frozen=True)
class Spot:
    """Where a node stands, in pixels."""

    x: float
    y: float


def draw_lineage(lineage: Lineage, most: int = MOST_DRAWN) -> str:
    """Draw who came from whom, from left to right; give the SVG.

    Of more than `most` genomes the most telling are drawn and the rest is counted.
    """
    nodes = choose(lineage.nodes, most)
    spots = place(nodes)
    line = _line_of_descent(nodes)
    width = max((spot.x for spot in spots.values()), default=0) + _WIDTH + _MARGIN
    height = max((spot.y for spot in spots.values()), default=0) + _HEIGHT + _MARGIN
    left_out = len(lineage.nodes) - len(nodes)
    body = [
        _title(lineage, nodes, left_out),
        *(_edges(node, spots, line) for node in nodes),
        *(_node(node, spots[node.genome_id]) for node in nodes),
        _rest(left_out, height) if left_out else "",
    ]
    name = _id(lineage)
    size = f'width="{width:g}" height="{height + (22 if left_out else 0):g}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage" role="img" {size} '
        f'aria-labelledby="{name}-title {name}-desc">'
    )
    return "\n".join([head, *filter(None, body), "</svg>"])


def choose(nodes: Sequence[LineageNode], most: int) -> tuple[LineageNode, ...]:
    """Choose up to `most` nodes, each with all its ancestors; their order stays.

    First what serves, waits or served, then those with the greatest gain. Only a line of
    descent that is too long by itself is cut off at its far end.
    """
    by_id = {node.genome_id: node for node in nodes}
    chosen: dict[UUID, None] = {}
    for node in sorted(nodes, key=_telling):
        family = [i for i in (node.genome_id, *_ancestors(node, by_id)) if i not in chosen]
        if len(chosen) + len(family) <= most or not chosen:
            chosen |= dict.fromkeys(family[:most])
    return tuple(node for node in nodes if node.genome_id in chosen)


def place(nodes: Sequence[LineageNode]) -> dict[UUID, Spot]:
    """Give each node its place: a column a generation, a parent beside the middle of its
    children. Parents come first in `nodes`."""
    known = {node.genome_id for node in nodes}
    children: dict[UUID | None, list[LineageNode]] = defaultdict(list)
    for node in nodes:
        children[node.parent_id if node.parent_id in known else None].append(node)
    for siblings in children.values():
        siblings.sort(key=_telling)
    depth: dict[UUID, int] = {}
    for node in nodes:
        parents = [depth[i] for i in (node.parent_id, node.mate_id) if i in depth and i]
        depth[node.genome_id] = max(parents, default=-1) + 1
    rows = _rows(nodes, children)
    return {i: Spot(_MARGIN + depth[i] * _COLUMN, _MARGIN + row * _ROW) for i, row in rows.items()}


def _rows(
    nodes: Sequence[LineageNode], children: Mapping[UUID | None, list[LineageNode]]
) -> dict[UUID, float]:
    """Leaves take one row each, in the order of a walk; parents stand in the middle of theirs."""
    walk: list[LineageNode] = []
    stack = list(reversed(children[None]))
    while stack:
        node = stack.pop()
        walk.append(node)
        stack += reversed(children[node.genome_id])
    leaves = [node for node in walk if not children[node.genome_id]]
    rows: dict[UUID, float] = {leaf.genome_id: float(row) for row, leaf in enumerate(leaves)}
    for node in reversed(walk):
        own = [rows[child.genome_id] for child in children[node.genome_id]]
        rows.setdefault(node.genome_id, (min(own) + max(own)) / 2 if own else 0.0)
    return rows


def _telling(node: LineageNode) -> tuple[int, bool, float]:
    order = (Status.ACTIVE, Status.PENDING_APPROVAL, Status.RETIRED)
    rank = order.index(node.status) if node.status in order else len(order)
    return rank, node.gain is None, -(node.gain.mean if node.gain else 0.0)


def _ancestors(node: LineageNode, by_id: Mapping[UUID, LineageNode]) -> list[UUID]:
    """Nearest first."""
    found: dict[UUID, None] = {}
    queue = deque([node])
    while queue:
        one = queue.popleft()
        for parent in (one.parent_id, one.mate_id):
            if parent in by_id and parent not in found and parent is not None:
                found[parent] = None
                queue.append(by_id[parent])
    return list(found)


def _line_of_descent(nodes: Sequence[LineageNode]) -> set[UUID]:
    """What serves now and all that it descends from."""
    by_id = {node.genome_id: node for node in nodes}
    serving = [node for node in nodes if node.status is Status.ACTIVE]
    ancestors = {i for node in serving for i in _ancestors(node, by_id)}
    return ancestors | {node.genome_id for node in serving}


def _title(lineage: Lineage, nodes: Sequence[LineageNode], left_out: int) -> str:
    name = _id(lineage)
    title = f"Lineage of layer {lineage.layer} in domain {lineage.domain}"
    serving = [node.name for node in nodes if node.status is Status.ACTIVE]
    waiting = [node.name for node in nodes if node.status is Status.PENDING_APPROVAL]
    said = [
        f"{len(nodes)} genomes from left to right, each beside its parent",
        f"{', '.join(serving)} serves" if serving else "none of them serves",
        f"{', '.join(waiting)} waits for a decision" if waiting else "",
        f"{left_out} further ones are not drawn" if left_out else "",
    ]
    text = "; ".join(filter(None, said))
    return (
        f'<title id="{name}-title">{_text(title)}</title>'
        f'<desc id="{name}-desc">{_text(text)}.</desc>'
    )


def _edges(node: LineageNode, spots: Mapping[UUID, Spot], line: set[UUID]) -> str:
    here = spots[node.genome_id]
    drawn = []
    for parent, kind in ((node.parent_id, "parent"), (node.mate_id, "mate")):
        if parent in spots and parent is not None:
            served = " is-line" if {node.genome_id, parent} <= line else ""
            drawn.append(
                f'<path class="lineage-{kind}{served}" d="{_curve(spots[parent], here)}"/>'
            )
    return "".join(drawn)


def _curve(start: Spot, end: Spot) -> str:
    x1, y1 = start.x + _WIDTH, start.y + _HEIGHT / 2
    x2, y2 = end.x, end.y + _HEIGHT / 2
    bend = max(24.0, (x2 - x1) / 2)
    return f"M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}"


def _node(node: LineageNode, spot: Spot) -> str:
    kind = _KINDS.get(node.status, "idle")
    status = _WORDS.get(node.status, node.status.value)
    gain = _short_gain(node)
    room = _CHARS - len(gain) - 1
    return (
        f'<g class="lineage-node is-{kind}" transform="translate({spot.x:g} {spot.y:g})">'
        f"<title>{_text(_whole(node))}</title>"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>'
        f'<text class="lineage-name" x="12" y="22">{_text(node.name)}</text>'
        f'<text class="lineage-status" x="{_WIDTH - 12}" y="22">{_text(status)}</text>'
        f'<text class="lineage-made" x="12" y="41">{_text(_cut(_made(node), room))}</text>'
        f'<text class="lineage-gain" x="{_WIDTH - 12}" y="41">{_text(gain)}</text></g>'
    )


def _whole(node: LineageNode) -> str:
    """Everything that there is to say of a node: shown where a pointer rests on it."""
    lines = [
        f"{node.name}, {_WORDS.get(node.status, node.status.value)}, made by {node.operator}",
        node.notes,
        f"gain {node.gain}" if node.gain else "",
        node.reason,
        f"proposals for it that were refused: {len(node.refused)}" if node.refused else "",
    ]
    return "\n".join(filter(None, lines))


def _made(node: LineageNode) -> str:
    return node.operator.replace("_", " ")


def _short_gain(node: LineageNode) -> str:
    if node.gain is None:
        return ""
    mean = f"{node.gain.mean:+.2f}".replace("-", "\u2212")
    return mean if node.gain.error is None else f"{mean} ± {node.gain.error:.2f}"


def _rest(left_out: int, height: float) -> str:
    noun = "genome is" if left_out == 1 else "genomes are"
    text = f"{left_out} further {noun} not drawn"
    return f'<text class="lineage-rest" x="{_MARGIN}" y="{height + 12:g}">{text}</text>'


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _id(lineage: Lineage) -> str:
    return "lineage-" + re.sub(r"[^\w-]", "-", f"{lineage.domain}-{lineage.layer}")


def _text(text: str) -> str:
    return escape(_UNDRAWABLE.sub("\ufffd", text))
