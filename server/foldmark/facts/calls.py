"""What a tool call did, whatever the assistant calls its tools and their fields."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from foldmark.facts import shell, toolkinds
from foldmark.facts.actions import (
    Action,
    Delegated,
    Fetched,
    How,
    Looked,
    Planned,
    Proposed,
    Ran,
    Status,
    Task,
    Touched,
)
from foldmark.facts.words import one_line
from foldmark.messages import ToolCall

_LONGEST = 20_000
_LONGEST_JSON = 2_000_000
_MOST_PATHS = 50

_HOW: dict[str, How] = {"read": "read", "write": "created", "edit": "edited", "delete": "deleted"}
_PATHS = (
    "file_path", "path", "filePath", "absolute_path", "notebook_path", "filename", "file",
    "target_file", "TargetFile", "AbsolutePath",
)  # fmt: skip
_CHECKBOX = re.compile(
    r"^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+\[([ xX~/-])\]\s+(.{1,400})$", re.MULTILINE
)
_MARKS: dict[str, Status] = {" ": "pending", "x": "completed", "X": "completed"}


def actions(call: ToolCall) -> Iterator[Action]:
    """Say what a call did, in the order it did it; an unknown tool did nothing we can name."""
    given = _object(call.input)
    words = call.input if isinstance(call.input, str) and not given else ""
    kind = toolkinds.kind(call.name, given)
    match kind:
        case "patch":
            yield from shell.patched(words or _first(given, "input", "patch", "patchText", "diff"))
        case "run":
            for command in _commands(given) or ([words] if words else []):
                if shell.is_patch(command):
                    yield from shell.patched(command)
                else:
                    yield Ran(command[:_LONGEST])
                    yield from shell.touched(command)
        case "editor":
            yield from _edited(given)
        case "plan":
            yield from _plan(given)
        case "propose":
            if plan := _first(given, "plan", "content", "text"):
                yield Proposed(plan)
        case "newtask" | "task":
            yield from _task_changed(given, new=kind == "newtask")
        case "delegate":
            keys = ("description", "title", "prompt", "task", "message", "instructions")
            yield Delegated(one_line(_first(given, *keys)[:_LONGEST])[:300])
        case "fetch":
            if url := _first(given, "url", "uri", "prompt"):
                yield Fetched(one_line(url[:400]))
        case "look":
            if what := _first(given, "pattern", "query", "regex", "q", "path"):
                yield Looked(one_line(what[:400]))
        case "read" | "write" | "edit" | "delete":
            for path in _paths(given):
                yield Touched(path, _HOW[kind])
        case _:
            pass


def _edited(given: Mapping[str, Any]) -> Iterator[Touched]:
    match given.get("command"):
        case "view":
            how: How = "read"
        case "create" | "write":
            how = "created"
        case _:
            how = "created" if "file_text" in given and "old_text" not in given else "edited"
    for path in _paths(given):
        yield Touched(path, how)


def _plan(given: Mapping[str, Any]) -> Iterator[Planned]:
    listed = next((given[key] for key in ("todos", "plan", "items", "tasks") if key in given), None)
    if isinstance(listed, list):
        tasks = [_task(entry) for entry in cast("list[Any]", listed)]
        yield Planned(tuple(task for task in tasks if task.text))
        return
    text = listed if isinstance(listed, str) else _first(given, "content", "todo", "markdown")
    if boxes := _CHECKBOX.findall(text[:_LONGEST]):
        yield Planned(
            tuple(Task(one_line(what), _MARKS.get(mark, "in_progress")) for mark, what in boxes)
        )


def _task(entry: Any) -> Task:
    if isinstance(entry, str):
        return Task(one_line(entry[:600]), "pending")
    given = _object(entry)
    words = _first(given, "content", "step", "title", "text", "task", "subject", "description")
    status = "completed" if given.get("done") is True else _status(given.get("status"))
    return Task(one_line(words[:600]), status)


def _task_changed(given: Mapping[str, Any], *, new: bool) -> Iterator[Task]:
    words = one_line(_first(given, "subject", "title", "description", "content")[:600])
    id = _first(given, "taskId", "task_id", "id")
    if new:
        yield Task(words, "pending")
    elif id:
        status = _status(given["status"]) if "status" in given else "unknown"
        yield Task(words, status, id)


def _status(value: Any) -> Status:
    """Read a task's status in any assistant's words."""
    match re.sub(r"[^a-z]", "", str(value).lower()[:40]):
        case "completed" | "complete" | "done" | "finished":
            return "completed"
        case "inprogress" | "active" | "running" | "started" | "doing":
            return "in_progress"
        case "cancelled" | "canceled" | "deleted" | "skipped" | "dropped":
            return "dropped"
        case _:
            return "pending"


def _commands(given: Mapping[str, Any]) -> list[str]:
    value = given.get("commands")
    if isinstance(value, list):
        listed = cast("list[Any]", value)
        return [one if isinstance(one, str) else _command(_object(one)) for one in listed if one]
    command = _command(given)
    return [command] if command else []


def _command(given: Mapping[str, Any]) -> str:
    for key in ("command", "cmd", "script"):
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, list) and value:
            words = [str(word) for word in cast("list[Any]", value)]
            inner = len(words) >= 3 and words[-2] in ("-lc", "-c")
            return words[-1].strip() if inner else " ".join(words)
    return ""


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    if path := _first(given, *_PATHS):
        yield one_line(path[:1_000])
        return
    for key in ("files", "paths", "file_paths", "edits"):
        value = given.get(key)
        if isinstance(value, list):
            for entry in cast("list[Any]", value)[:_MOST_PATHS]:
                if isinstance(entry, str):
                    yield one_line(entry[:1_000])
                else:
                    yield from _paths(_object(entry))
            return


def _first(given: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _object(value: Any) -> Mapping[str, Any]:
    """Take an object, also one that was passed as JSON text."""
    if isinstance(value, str) and value[:1] == "{" and len(value) <= _LONGEST_JSON:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
