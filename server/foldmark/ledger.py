"""The ledger: facts taken from messages without a model, word for word.

An accumulator over a stream. Each kind of fact has a collector in `facts`; this module decides
which words reach which of them. Reasoning reaches none, only a person's own words become
requests and constraints, and Foldmark's own tools leave no trace.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from posixpath import basename
from typing import NamedTuple

from foldmark.facts import calls, outputs
from foldmark.facts.actions import (
    Delegated,
    Fetched,
    Looked,
    Planned,
    Proposed,
    Ran,
    Task,
    Touched,
)
from foldmark.facts.asked import Requests
from foldmark.facts.commands import Commands
from foldmark.facts.constraints import Constraints
from foldmark.facts.files import Files
from foldmark.facts.names import Links, Names
from foldmark.facts.prose import Prose
from foldmark.facts.sections import Item, Section, compose
from foldmark.facts.tasks import Subagents, Tasks
from foldmark.facts.words import clip, one_line
from foldmark.messages import Message, Text, ToolCall, ToolResult
from foldmark.own import is_own_tool
from foldmark.redaction import redacted
from foldmark.render import without_data

_PENDING = 2_000
_ANCHORS = 12

# What a name weighs by where it stands: what was said and done is more likely to come up again.
_SAID, _ASKED, _RAN, _TOUCHED, _REPORTED, _SHOWN = 3.0, 2.0, 1.5, 1.0, 0.5, 0.2
_SCANNED = 16_000


@dataclass(slots=True)
class _Pending:
    """A call that waits for its result."""

    label: str
    commands: tuple[str, ...] = ()
    subagent: str = ""
    task: str = ""
    ran: bool = False
    ours: bool = False


class Outline(NamedTuple):
    """The sections of plain facts, in the order of a facts block."""

    environment: Section
    constraints: Section
    tasks: Section
    errors: Section
    modified: Section
    read: Section
    commands: Section


class Ledger:
    """The facts of a session so far; its memory is bounded whatever the session's size."""

    def __init__(self, *, project: str = "", branch: str = "") -> None:
        self.project = one_line(project)
        self.requests = Requests()
        self.constraints = Constraints()
        self.files = Files(self.project)
        self.commands = Commands()
        self.tasks = Tasks()
        self.subagents = Subagents()
        self.prose = Prose()
        self.names = Names(self.project)
        self.links = Links(one_line(branch))
        self._pending: OrderedDict[str, _Pending] = OrderedDict()

    def add(self, messages: Iterable[Message]) -> None:
        """Take further messages, oldest first."""
        for message in messages:
            self._add(message)

    def block(self, budget: int) -> str:
        """Write the facts that stand beside a summary, in at most `budget` characters.

        Empty when there is nothing to say or no room to say it.
        """
        return compose(self.outline(budget), budget)

    def anchors(self) -> tuple[str, ...]:
        """Name up to twelve words that a summary of this session would hold."""
        edited = [basename(path) for path in self.files.modified()[:4]]
        read = [basename(path) for path in self.files.most_read()[:4]]
        counted = sorted(self.prose.frequent.items(), key=lambda pair: (-pair[1], pair[0]))
        words = [word for word, count in counted[:_ANCHORS] if count > 1 or len(counted) < _ANCHORS]
        return tuple(dict.fromkeys(filter(None, [*edited, *read, *words])))[:_ANCHORS]

    def outline(self, budget: int) -> Outline:
        """Lay the facts out for a text of `budget` characters."""
        modified = self.files.modified_items(budget // 8)
        read = self.files.read_items(budget // 16)
        shortened = any(item.group.startswith("...") for item in (*modified, *read))
        environment = self._environment(shortened=shortened)
        return Outline(
            Section("Environment", environment, 0.03, needed=4, fixed=True),
            Section(
                "User constraints and facts, verbatim", self.constraints.items(), 0.20,
                turn=1, total=self.constraints.count, trace=True,
            ),
            Section("Task list", self.tasks.items(), 0.10, turn=3, fixed=True),
            Section("Errors", self.commands.error_items(), 0.12, turn=2, fixed=True),
            Section("Files modified", modified, 0.14, turn=5),
            Section("Files read", read, 0.06, turn=10),
            Section(
                "Commands, newest first", self.commands.items(), 0.08,
                turn=7, total=self.commands.count,
            ),
        )  # fmt: skip

    def _environment(self, *, shortened: bool) -> tuple[Item, ...]:
        items: list[Item] = []
        if self.project:
            items.append(Item((f"Working directory: {clip(self.project, 300)}",)))
        branches = dict.fromkeys(filter(None, (self.links.branch, self.links.printed_branch)))
        if branches:
            words = ", later ".join(clip(branch, 120) for branch in branches)
            items.append(Item((f"Branch: {words}",)))
        if shortened:
            items.append(
                Item((f"Paths that start with ... are in {clip(self.files.root(), 300)}",))
            )
        commits = list(reversed(self.links.commits.items()))
        if commits:
            short = ", ".join(commit for commit, _ in commits[:8])
            full = "; ".join(f"{commit} {subject}".strip() for commit, subject in commits[:12])
            items.append(Item(tuple(f"Commits, newest first: {form}" for form in (short, full))))
        return tuple(items)

    def _add(self, message: Message) -> None:
        self.names.step()
        source = one_line(message.id[:200])
        if prompt := message.prompt:
            self._prompt(_fit_to_quote(prompt), source)
        broken = message.error not in ("", "aborted")  # then its words are the provider's
        for block in message.blocks:
            match block:
                case Text(text=text) if message.role == "assistant" and not broken:
                    self._reply(_fit_to_quote(text), source)
                case ToolCall():
                    self._call(block, source)
                case ToolResult():
                    self._result(block, source)
                case _:
                    pass

    def _prompt(self, prompt: str, source: str) -> None:
        self.requests.add(prompt, source)
        self.constraints.add(prompt, source)
        self.prose.heard(prompt, source)
        self.links.visit(prompt)
        self.names.add(prompt, _ASKED, _SCANNED)

    def _reply(self, text: str, source: str) -> None:
        self.prose.said(text, source)
        self.names.add(text, _SAID, _SCANNED)

    def _call(self, call: ToolCall, source: str) -> None:
        pending = _Pending(one_line(call.name[:120]))
        if is_own_tool(call.name):
            pending.ours = True
        else:
            self._act(call, pending, source)
        self._pending[call.id] = pending
        while len(self._pending) > _PENDING:
            self._pending.popitem(last=False)

    def _act(self, call: ToolCall, pending: _Pending, source: str) -> None:
        for action in calls.actions(call):
            match action:
                case Ran(line):
                    command = redacted(line)
                    pending.ran = True
                    pending.commands = (*pending.commands, self.commands.add(command, source))
                    pending.label = f"$ {clip(one_line(command[:2_000]), 200)}"
                    self.names.add(command, _RAN, 3_000)
                case Touched(path):
                    self.files.add(action)
                    pending.label += f" {self.files.shown(path)}"
                    self.names.add(self.files.shown(path), _TOUCHED, 500)
                case Planned():
                    self.tasks.plan(action)
                case Task():
                    id = self.tasks.add(action)
                    pending.task = "" if action.id else id
                case Proposed(plan):
                    self._reply(plan, source)
                case Delegated(title):
                    pending.subagent = title or pending.label
                case Fetched(url):
                    self.links.visit(url)
                    pending.label += f" {url}"
                case Looked(what):
                    pending.label += f" {what[:120]}"
                    self.names.add(what, _TOUCHED, 500)

    def _result(self, result: ToolResult, source: str) -> None:
        pending = self._pending.pop(result.call_id, None) or _Pending("tool")
        if pending.ours:
            return
        text = redacted(outputs.unwrapped(result.text))
        if pending.subagent:
            self.subagents.add(pending.subagent, text, source)
            self.names.add(text, _REPORTED, _SCANNED)
            return
        if pending.task:
            self.tasks.numbered(pending.task, text)
        if pending.ran:
            for command in pending.commands:
                self.commands.ended(command, result, text)
            self.links.printed(text)
        else:
            self.commands.broke(result, text, source)
        self.names.add(text, _SHOWN, _SCANNED)
        self.prose.happened(pending.label, text, source)


def _fit_to_quote(words: str) -> str:
    """Leave out of a message's words what no summary may repeat: secrets, and files' bytes."""
    return redacted(without_data(words))
