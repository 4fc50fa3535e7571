"""Files the session read and changed, the latest first."""

from collections import Counter
from dataclasses import dataclass, field
from posixpath import basename, dirname

from foldmark.facts.actions import Touched
from foldmark.facts.sections import Item
from foldmark.facts.words import one_line


@dataclass(slots=True)
class _File:
    edits: int = 0
    reads: int = 0
    created: bool = False
    deleted: bool = False
    edited_at: int = 0
    read_at: int = 0


@dataclass(slots=True)
class Files:
    """What happened to each path."""

    project: str = ""
    known: dict[str, _File] = field(default_factory=dict[str, _File])
    at: int = 0

    def add(self, touched: Touched) -> None:
        """Take one read or change of a file."""
        path = self.shown(touched.path)
        if not path:
            return
        file = self.known.setdefault(path, _File())
        self.at += 1
        if touched.how == "read":
            file.reads += 1
            file.read_at = self.at
            return
        file.edits += 1
        file.edited_at = self.at
        file.deleted = touched.how == "deleted"
        if touched.how == "created" and not file.reads and file.edits == 1:
            file.created = True

    def shown(self, path: str) -> str:
        """Write a path from the project's folder on, if it is in there."""
        path = path.replace("\\", "/")
        root = self.project.replace("\\", "/").rstrip("/")
        if root and path.startswith(f"{root}/"):
            path = path[len(root) + 1 :]
        return one_line(path.removeprefix("./")[:400])

    def modified(self) -> list[str]:
        """The changed paths, last edited first."""
        changed = [path for path, file in self.known.items() if file.edits]
        return sorted(changed, key=lambda path: -self.known[path].edited_at)

    def read_only(self) -> list[str]:
        """The paths that were only read, the latest read first."""
        seen = [path for path, file in self.known.items() if file.reads and not file.edits]
        return sorted(seen, key=lambda path: -self.known[path].read_at)

    def most_read(self) -> list[str]:
        """All paths, the most read first."""
        return sorted(self.known, key=lambda path: (-self.known[path].reads, path))

    def modified_items(self, room: int) -> tuple[Item, ...]:
        """Changed files by folder, with what happened to them."""
        return self._items(self.modified(), room, marked=True)

    def read_items(self, room: int) -> tuple[Item, ...]:
        """Files that were only read, by folder."""
        return self._items(self.read_only(), room, marked=False)

    def root(self) -> str:
        """The deepest folder outside the project that most paths outside of it share."""
        folders = [dirname(path) for path in self.known if path.startswith("/")]
        shared: Counter[str] = Counter()
        for folder in folders:
            parts = folder.split("/")
            shared.update("/".join(parts[:depth]) for depth in range(4, min(len(parts), 20) + 1))
        most = [
            root for root, count in shared.items() if count > 1 and count * 5 >= len(folders) * 3
        ]
        return max(most, key=lambda root: (len(root), root), default="")

    def _items(self, paths: list[str], room: int, *, marked: bool) -> tuple[Item, ...]:
        """List paths, each on its own line if that fits into `room`, else by folder."""
        whole = [path + (_mark(self.known[path]) if marked else "") for path in paths]
        if sum(len(line) + 3 for line in whole) <= room:
            return tuple(Item((line,)) for line in whole)
        twins = self._twins()
        root = self.root()
        items: list[Item] = []
        for path in paths:
            name = basename(path.rstrip("/")) or path
            folder = dirname(path)
            if name in twins and folder:
                name = f"{basename(folder)}/{name}"
            label = name + (_mark(self.known[path]) if marked else "")
            if root and f"{folder}/".startswith(f"{root}/"):
                folder = f"...{folder[len(root) :]}"
            items.append(Item((label,), group=f"{folder or '.'}/"))
        return tuple(items)

    def _twins(self) -> set[str]:
        seen: set[str] = set()
        twins: set[str] = set()
        for path in self.known:
            name = basename(path)
            (twins if name in seen else seen).add(name)
        return twins


def _mark(file: _File) -> str:
    marks: list[str] = []
    if file.created:
        marks.append("created")
    if file.deleted:
        marks.append("deleted")
    if file.edits > 1:
        marks.append(f"x{file.edits}")
    return f" ({', '.join(marks)})" if marks else ""
