"""Shell commands and how they ended, and the errors that tools reported."""

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from foldmark.facts import outputs, shell
from foldmark.facts.asked import Said
from foldmark.facts.sections import Item
from foldmark.facts.words import clip, one_line
from foldmark.messages import ToolResult

_KEPT = 120
_LONGEST = 700
_OPEN = 4
_CODE = re.compile(r"(\d+)")
_NUMBER = re.compile(r"\d+")


@dataclass(slots=True)
class _Command:
    text: str
    outcome: str = ""
    failing: bool = False
    errors: list[str] = field(default_factory=list[str])
    source: str = ""


@dataclass(slots=True)
class Commands:
    """Distinct commands with their latest outcome, and distinct error lines."""

    known: OrderedDict[str, _Command] = field(default_factory=OrderedDict[str, _Command])
    errors: OrderedDict[str, Said] = field(default_factory=OrderedDict[str, Said])
    count: int = 0

    def add(self, command: str, source: str) -> str:
        """Take a command that was run; the answer names it for `ended`."""
        text = clip(one_line(command), _LONGEST)
        if not text:
            return ""
        entry = self.known.pop(text, None)
        if entry is None:
            entry = _Command(text)
            self.count += 1
        entry.source, entry.outcome = source, ""
        self.known[text] = entry
        while len(self.known) > _KEPT:
            self.known.popitem(last=False)
        return text

    def ended(self, key: str, result: ToolResult, text: str) -> None:
        """Take the output of the command `key`."""
        code = outputs.exit_code(result, text)
        failing = outputs.failed(text, code)
        quiet = not failing and shell.only_shows(key)
        found = [] if quiet else outputs.error_lines(text, failure=failing)
        entry = self.known.get(key)
        if entry is not None:
            entry.failing = failing
            entry.outcome = _outcome(failing, code)
            entry.errors = found[:1] + found[-1:] if len(found) > 1 else found
            if not failing:
                self._resolve(entry)
        self._note(found, entry.source if entry else "")

    def broke(self, result: ToolResult, text: str, source: str) -> None:
        """Take the answer of a tool other than the shell that failed."""
        if result.is_error:
            self._note(outputs.error_lines(text, failure=True, most=2), source)

    def _resolve(self, passed: _Command) -> None:
        """A success of the same program with the same aim settles its earlier failures."""
        aim = _aim(passed.text)
        for entry in self.known.values():
            if entry.failing and entry is not passed and _aim(entry.text) == aim:
                entry.failing = False

    def _note(self, found: list[str], source: str) -> None:
        for line in found:
            key = _NUMBER.sub("#", line)
            self.errors.pop(key, None)
            self.errors[key] = Said(line, source)
        while len(self.errors) > _KEPT:
            self.errors.popitem(last=False)

    def items(self) -> tuple[Item, ...]:
        """Commands, newest first, each with its outcome."""
        return tuple(
            Item(
                _forms(entry.text, f"[{entry.outcome or 'no result'}] ", (80, 240, _LONGEST)),
                entry.source,
            )
            for entry in reversed(self.known.values())
        )

    def error_items(self) -> tuple[Item, ...]:
        """Unresolved failures first, then every other error line, newest first."""
        items: list[Item] = []
        shown: set[str] = set()
        for entry in [one for one in reversed(self.known.values()) if one.failing][:_OPEN]:
            code = _CODE.search(entry.outcome)
            label = f"UNRESOLVED (exit {code[1]}): " if code else "UNRESOLVED: "
            forms = (label + _failure(entry, *rooms) for rooms in ((90, 100), (160, 240)))
            items.append(Item(tuple(dict.fromkeys(forms)), entry.source))
            shown.update(entry.errors)
        others = (error for error in reversed(self.errors.values()) if error.text not in shown)
        items.extend(Item(_forms(error.text, "", (100, 400)), error.source) for error in others)
        return tuple(items)


def _outcome(failing: bool, code: int | None) -> str:
    if not failing:
        return "ok"
    return f"FAIL({code})" if code and code > 0 else "FAIL"


def _failure(entry: _Command, command: int, error: int) -> str:
    """Write a command and what it complained of first and last."""
    said = " | ".join(clip(line, error) for line in entry.errors)
    return clip(entry.text, command) + (f" -> {said}" if said else "")


def _aim(command: str) -> str:
    """Reduce a command to its program and first argument, without what prepares or trims it."""
    words = shell.bare(command).split("|")[0].split("&&")[0]
    return " ".join(words.replace("2>&1", "").split()[:3])


def _forms(text: str, label: str, rooms: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label + clip(text, room) for room in rooms))
