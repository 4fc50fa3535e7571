"""Sections of a summary and how they share its room.

Every item is one line behind "- ", so nothing taken from a message can start a line, let alone
forge a heading. An item may come in several lengths; a longer one is taken only from room that
no other section could use.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Item:
    """One fact. `lengths` holds it ever longer; items of one `group` share a line.

    `source` is the id of the message it was taken from. An item whose `known_by` stands somewhere
    in the summary already need not be said again.
    """

    lengths: tuple[str, ...]
    source: str = ""
    group: str = ""
    known_by: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Facts of one kind, the most important first.

    `share` is its claim on the room, and `needed` how many of its items are placed before anything
    else. `turn` is its place in the queue for what the shares leave over, of which it may have the
    part `at_most`. `total` is how many facts there were, with those that were not kept; with
    `trace` the heading names the message that holds the first fact left out. In a `fixed` section
    the order says something by itself.
    """

    heading: str
    items: tuple[Item, ...]
    share: float = 0.0
    needed: int = 0
    turn: int = 0
    at_most: float = 1.0
    total: int = 0
    inline: bool = False
    trace: bool = False
    fixed: bool = False


@dataclass(slots=True)
class _Page:
    """What all sections say so far."""

    text: str = ""


@dataclass(slots=True)
class _Part:
    """A section being filled: which items, at which length."""

    section: Section
    page: _Page
    used: int = 0
    taken: dict[int, int] = field(default_factory=dict[int, int])
    known: set[int] = field(default_factory=set[int])
    groups: set[str] = field(default_factory=set[str])

    def cost(self, index: int) -> int:
        """Count what taking this item at its shortest would add."""
        item = self.section.items[index]
        words = len(escaped(item.lengths[0]))
        if item.group:
            fresh = item.group not in self.groups
            added = words + (len(escaped(item.group)) + 5 if fresh else 2)
        elif self.section.inline:
            added = words + (2 if self.taken else 3)
        else:
            added = words + 3
        return added if self.taken else added + _heading_room(self.section)

    def take(self, index: int) -> None:
        """Take an item at its shortest."""
        self.used += self.cost(index)
        self.taken[index] = 0
        item = self.section.items[index]
        self.page.text += f"{item.lengths[0]}\n"
        if item.group:
            self.groups.add(item.group)

    def fill(self, room: int) -> None:
        """Take every further item that fits into `room` characters in all."""
        for index in range(len(self.section.items)):
            if index in self.taken or index in self.known:
                continue
            if (key := self.section.items[index].known_by) and key in self.page.text:
                self.known.add(index)
            elif self.used + self.cost(index) <= room:
                self.take(index)

    def lengthen(self, room: int) -> None:
        """Take longer forms of the items it has, level by level, the most important first."""
        deepest = max((len(self.section.items[index].lengths) for index in self.taken), default=0)
        for level in range(1, deepest):
            for index in sorted(self.taken):
                forms = self.section.items[index].lengths
                now = self.taken[index]
                if now >= level or level >= len(forms):
                    continue
                added = len(escaped(forms[level])) - len(escaped(forms[now]))
                if self.used + added <= room:
                    self.taken[index] = level
                    self.used += added
                    self.page.text += f"{forms[level]}\n"

    def text(self) -> str:
        """Write the section with the items it has."""
        section = self.section
        chosen = [(section.items[index], level) for index, level in sorted(self.taken.items())]
        out = [_heading(section, self.taken.keys() | self.known)]
        grouped: dict[str, list[str]] = {}
        for item, level in chosen:
            words = escaped(item.lengths[level])
            if item.group:
                grouped.setdefault(escaped(item.group), []).append(words)
            elif section.inline:
                grouped.setdefault("", []).append(words)
            else:
                out.append(f"- {words}")
        for group, members in grouped.items():
            joined = ", ".join(members)
            out.append(f"- {group}: {joined}" if group else f"- {joined}")
        return "\n".join(out)


def escaped(words: str) -> str:
    """Keep words that start like a heading from being one, inside a list item too."""
    return f"\\{words}" if words.startswith("#") else words


def compose(sections: Sequence[Section], budget: int) -> str:
    """Write sections in their order in at most `budget` characters.

    Each is filled to its share; what some do not use goes to the others, then to each in turn,
    first for more items, then for longer ones.
    """
    page = _Page()
    parts = [_Part(section, page) for section in sections if section.items]
    budget -= max(len(parts) - 1, 0)  # a blank line between two sections
    _place_needed(parts, budget)
    _fill_shares(parts, budget)
    queue = sorted(parts, key=lambda part: part.section.turn)
    for grow in (_Part.fill, _Part.lengthen):
        for part in queue:
            spare = budget - _used(parts)
            grow(part, part.used + int(spare * part.section.at_most))
    return "\n\n".join(part.text() for part in parts if part.taken)


def _place_needed(parts: Sequence[_Part], budget: int) -> None:
    for part in parts:
        for index in range(min(part.section.needed, len(part.section.items))):
            if _used(parts) + part.cost(index) <= budget:
                part.take(index)


def _fill_shares(parts: Sequence[_Part], budget: int) -> None:
    claims = [part for part in parts if part.section.share > 0]
    whole = sum(part.section.share for part in claims)
    room = {id(part): budget * part.section.share / whole for part in claims}
    for _ in range(_ROUNDS):
        for part in claims:
            limit = int(min(room[id(part)], part.used + budget - _used(parts)))
            part.fill(limit)
            part.lengthen(limit)
        hungry = [part for part in claims if not _exhausted(part)]
        spare = budget - sum(max(room[id(part)], part.used) for part in hungry)
        spare -= sum(part.used for part in parts if part not in hungry)
        if spare <= 0 or not hungry:
            return
        weight = sum(part.section.share for part in hungry)
        for part in hungry:
            room[id(part)] = max(room[id(part)], part.used) + spare * part.section.share / weight


def _exhausted(part: _Part) -> bool:
    items = part.section.items
    return len(part.taken) + len(part.known) == len(items) and all(
        level == len(items[index].lengths) - 1 for index, level in part.taken.items()
    )


def _used(parts: Sequence[_Part]) -> int:
    return sum(part.used for part in parts)


def _heading(section: Section, said: Set[int]) -> str:
    left = max(section.total, len(section.items)) - len(said)
    if left <= 0:
        return f"## {section.heading}"
    items = enumerate(section.items)
    first = next((item.source for at, item in items if item.source and at not in said), "")
    where = f"; message_id={first}" if section.trace and first else ""
    return f"## {section.heading} (+{left} more{where})"


def _heading_room(section: Section) -> int:
    """Count the most that the heading can take, with its note about what is left out."""
    longest = max((len(item.source) for item in section.items), default=0)
    note = f" (+{max(section.total, len(section.items))} more)"
    trace = len("; message_id=") + longest if section.trace else 0
    return len("## ") + len(section.heading) + len(note) + trace + 1
