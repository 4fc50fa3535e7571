"""The task list as it was last written, and what subagents reported."""

import re
from collections import deque
from dataclasses import dataclass, field, replace

from foldmark.facts.actions import Planned, Task
from foldmark.facts.sections import Item
from foldmark.facts.words import clip, ends, one_line

_ORDER = {"in_progress": 0, "pending": 1, "completed": 2, "unknown": 1, "dropped": 3}
_LABEL = {"in_progress": "[in progress] ", "pending": "[ ] ", "unknown": "[ ] "}
_NUMBER = re.compile(r"#(\d{1,6})\b")
_MOST = 200


@dataclass(slots=True)
class Tasks:
    """The task list, whether it is written whole or task by task."""

    listed: dict[str, Task] = field(default_factory=dict[str, Task])
    created: int = 0

    def plan(self, planned: Planned) -> None:
        """Take the whole list."""
        self.listed = {str(at): task for at, task in enumerate(planned.tasks[:_MOST], start=1)}

    def add(self, task: Task) -> str:
        """Take one new or changed task; the answer is the id that it goes by for now."""
        if task.id:
            old = self.listed.get(task.id)
            if old is not None:
                status = old.status if task.status == "unknown" else task.status
                task = replace(task, text=task.text or old.text, status=status)
            if task.text:
                self.listed[task.id] = task
            return task.id
        self.created += 1
        id = str(self.created)
        self.listed[id] = task
        while len(self.listed) > _MOST:
            done = (
                id for id, task in self.listed.items() if task.status in ("completed", "dropped")
            )
            del self.listed[next(done, next(iter(self.listed)))]
        return id

    def numbered(self, id: str, answer: str) -> None:
        """Take the number that the tool gave to the task just created."""
        found = _NUMBER.search(answer[:200])
        if found and found[1] != id and id in self.listed and found[1] not in self.listed:
            self.listed[found[1]] = self.listed.pop(id)
            self.created = max(self.created, int(found[1]))

    @property
    def current(self) -> str:
        """The task in progress, else the next one."""
        open_ones = [task for task in self.listed.values() if task.status in _LABEL]
        return min(open_ones, key=lambda task: _ORDER[task.status]).text if open_ones else ""

    def items(self) -> tuple[Item, ...]:
        """Open tasks, those in progress first; what is done on one line."""
        tasks = sorted(self.listed.values(), key=lambda task: _ORDER[task.status])
        items = [
            Item((_LABEL[task.status] + clip(task.text, 400),))
            for task in tasks
            if task.status in _LABEL and task.text
        ]
        done = [task.text for task in tasks if task.status == "completed" and task.text]
        if done:
            words = "; ".join(clip(text, 120) for text in done)
            items.append(Item((f"Done: {len(done)} tasks", f"Done: {clip(words, 600)}")))
        return tuple(items)


@dataclass(frozen=True, slots=True)
class _Report:
    title: str
    text: str
    source: str


@dataclass(slots=True)
class Subagents:
    """What each subagent was sent for and what it answered."""

    reports: deque[_Report] = field(default_factory=lambda: deque[_Report](maxlen=16))
    count: int = 0

    def add(self, title: str, answer: str, source: str) -> None:
        """Take one answer."""
        text = clip(one_line(ends(answer, 6_000)), 3_000)
        if text:
            self.count += 1
            self.reports.append(_Report(title, text, source))

    def items(self) -> tuple[Item, ...]:
        """Their answers, newest first."""
        return tuple(
            Item(
                tuple(
                    dict.fromkeys(
                        f"{clip(report.title, 120)} -> {clip(report.text, room)}"
                        for room in (240, 600, 1_500, 3_000)
                    )
                ),
                report.source,
            )
            for report in reversed(self.reports)
        )
