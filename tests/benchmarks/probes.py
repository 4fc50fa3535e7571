"""Probes: what a summary of a session should hold, derived from the session and checked by text.

Written from the definitions, not from the summarizer, and on purpose with patterns of its own.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname
from typing import Any, cast

from foldmark.facts import actions, calls
from foldmark.messages import Message, Text, ToolCall
from foldmark.own import is_own_tool

_WORD = re.compile(r"[a-z][a-z0-9_'-]{2,}")
_FIELDS = ("command", "cmd", "file_path", "path", "pattern", "url", "query")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "the and for that this with are was you can not but have has from will what its all our "
        "let now just they then there when which would should could into also any one out use",
    )
)
_RULE = re.compile(
    r"\b(never|always|must|don'?t|do not|only|should|instead of|avoid|prefer|ensure|make sure)\b",
    re.I,
)
_FINDING = re.compile(
    r"\b(root cause|because|decided|instead of|the (?:issue|problem|bug) is)\b", re.I
)
_ERROR = re.compile(
    r"(\berror\b\s*[:\[(]|Error: |Exception\b|^Traceback|^FAIL|--- FAIL|^fatal:|panic:"
    r"|command not found|No such file|[Pp]ermission denied|cannot )"
)
_VIEW = re.compile(
    r"^(?:cd \S+ && )?(?:cat|sed|rg|grep|head|tail|nl|git (?:show|diff|log)|gh|jq|bd|find|ls)\b"
)
_EXIT = re.compile(r"(?:[Ee]xit(?:ed with)? code:?|exit_code\"?:)\s*(\d+)")
_URL = re.compile(r"https?://[^\s\"'`<>()\[\]{}|\\]{6,200}")
_COMMIT = re.compile(r"^\[[\w./-]+(?: \(root-commit\))? ([0-9a-f]{7,12})\]", re.M)
_NAME = re.compile(
    r"https?://[^\s\"'`<>()\[\]]{6,120}|--[a-z][\w-]{2,30}"
    r"|(?:[\w.@-]+/)+[\w.@-]+\.\w{1,6}|\b[0-9a-f]{7,40}\b"
    r"|\b[\w-]{2,50}\.(?:py|go|ts|tsx|js|rs|md|json|toml|yaml|yml|sh|sql)\b"
    r"|\b[a-z]+[A-Z]\w{3,40}\b|\b[A-Z][a-z]+[A-Z]\w{2,40}\b|\b[a-z]\w{2,30}_\w{2,30}\b"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One fact, of one category, and how to see it in a text."""

    category: str
    what: str
    holds: Callable[[str], bool]


def flat(text: str) -> str:
    """Normalize white space."""
    return " ".join(text.split())


def words_of(text: str) -> list[str]:
    """List content words."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def verbatim(category: str, text: str, length: int) -> Probe:
    wanted = flat(text)[:length].strip()
    return Probe(category, wanted, lambda summary: wanted in summary)


def covered(category: str, text: str, share: float) -> Probe:
    wanted = set(words_of(text))

    def holds(summary: str) -> bool:
        if not wanted:
            return True
        return len(wanted & set(words_of(summary))) >= share * len(wanted)

    return Probe(category, flat(text)[:100], holds)


def present(category: str, names: Sequence[str]) -> Probe:
    return Probe(
        category, " + ".join(names), lambda summary: all(name in summary for name in names)
    )


def derive(messages: Sequence[Message], *, project: str = "", branch: str = "") -> list[Probe]:
    """List the probes of these messages."""
    probes: list[Probe] = []
    prompts = [message.prompt for message in messages if message.prompt]
    replies = [
        b.text
        for m in messages
        if m.role == "assistant"
        for b in m.blocks
        if isinstance(b, Text) and b.text.strip()
    ]
    if prompts:
        probes.append(covered("goal", prompts[0][:1500], 0.6))
        probes.append(verbatim("last_user", prompts[-1], 120))
        probes.extend(
            verbatim("user_verbatim", prompt, 120) for prompt in dict.fromkeys(prompts[-10:])
        )
    for prompt in prompts:
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", prompt[:6000]):
            sentence = re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", sentence).strip()
            if 15 <= len(sentence) <= 300 and _RULE.search(sentence) and not sentence.endswith("?"):
                probes.append(verbatim("constraint_verb", sentence, 300))
                probes.append(covered("constraint_soft", sentence, 0.7))
    if replies:
        probes.append(covered("next_step", replies[-1][:1200], 0.6))
    findings = [
        s for reply in replies for s in re.split(r"(?<=[.!?])\s+|\n+", reply)
        if 30 <= len(s) <= 300 and _FINDING.search(s)
    ]  # fmt: skip
    probes.extend(
        covered("finding", sentence, 0.7) for sentence in list(dict.fromkeys(findings))[-6:]
    )
    probes.extend(_of_tools(messages))
    if project:
        probes.append(present("env", [project]))
    if branch:
        probes.append(present("env", [branch]))
    urls = dict.fromkeys(url.rstrip(".,;:") for prompt in prompts for url in _URL.findall(prompt))
    probes.extend(present("url", [url]) for url in list(urls)[-8:])
    return probes


def _of_tools(messages: Sequence[Message]) -> Iterable[Probe]:
    calls_by_id = {call.id: call for message in messages for call in message.calls}
    results = {result.call_id: result for message in messages for result in message.results}
    modified: dict[str, None] = {}
    read: dict[str, None] = {}
    commands: dict[str, ToolCall] = {}
    errors: dict[str, None] = {}
    todo: Sequence[actions.Task] = ()
    open_error = ""
    reports: list[str] = []
    commits: list[str] = []
    for id, call in calls_by_id.items():
        if is_own_tool(call.name):
            continue
        done = list(calls.actions(call))
        answer = results.get(id)
        text = answer.text if answer else ""
        for action in done:
            match action:
                case actions.Touched(path, "read"):
                    if not any(isinstance(a, actions.Ran) for a in done):
                        read.setdefault(path)
                case actions.Touched(path):
                    modified.pop(path, None)
                    modified[path] = None
                case actions.Ran(command):
                    commands.pop(flat(command)[:70], None)
                    commands[flat(command)[:70]] = call
                    code = _EXIT.search(text[:300]) or _EXIT.search(text[-300:])
                    bad = answer is not None and (
                        answer.is_error or (code is not None and code[1] != "0")
                    )
                    lines = [line for line in text.splitlines()[:2000] if _ERROR.search(line[:300])]
                    if _VIEW.match(command) and not bad:
                        continue
                    for line in lines[-3:]:
                        errors.pop(flat(line)[:90], None)
                        errors[flat(line)[:90]] = None
                    if bad:
                        open_error = flat(command)[:70]
                    elif open_error == flat(command)[:70]:
                        open_error = ""
                    commits += _COMMIT.findall(text)
                case actions.Planned(tasks):
                    todo = tasks
                case actions.Delegated() if text:
                    reports.append(text)
                case _:
                    pass
    names = defaultdict[str, int](int)
    for path in {**modified, **read}:
        names[basename(path)] += 1

    def file(category: str, path: str) -> Probe:
        parent = [basename(dirname(path))] if names[basename(path)] > 1 and dirname(path) else []
        return present(category, [*parent, basename(path)])

    yield from (file("file_mod", path) for path in modified)
    yield from (file("file_last", path) for path in list(modified)[-1:])
    yield from (file("file_read", path) for path in list(read)[-12:] if path not in modified)
    yield from (verbatim("command", command, 70) for command in list(commands)[-6:])
    yield from (verbatim("error", line, 90) for line in list(errors)[-4:] if len(line) > 8)
    if open_error:
        yield verbatim("open_error", open_error, 70)
    yield from (
        verbatim("todo", t.text, 200) for t in todo if t.status in ("pending", "in_progress")
    )
    yield from (covered("subagent", text[:800], 0.6) for text in reports[-3:])
    yield from (present("commit", [commit[:7]]) for commit in list(dict.fromkeys(commits))[-6:])


def hindsight(prefix: Sequence[Message], suffix: Sequence[Message]) -> list[str]:
    """List the names of the prefix that the assistant then used from memory.

    A name that a tool or the person showed first after the cut does not count.
    """
    known = set(_NAME.findall("\n".join(_words(prefix))))
    shown: set[str] = set()
    used: dict[str, None] = {}
    for message in suffix[:100]:
        if message.role == "assistant":
            for text in _words([message]):
                for name in _NAME.findall(text):
                    if name in known and name not in shown:
                        used.setdefault(name)
        else:
            shown.update(_NAME.findall("\n".join(_words([message]))))
    return list(used)


def name_held(name: str, summary: str) -> bool:
    """Tell whether a name stands in the summary; a path may stand in parts."""
    if name in summary:
        return True
    if "/" in name and "://" not in name:
        folder = basename(dirname(name))
        return basename(name) in summary and folder in summary
    return False


def fields(given: Any) -> Mapping[str, Any]:
    """Take the input of a call as an object."""
    if isinstance(given, Mapping):
        return cast("Mapping[str, Any]", given)
    return {"command": given}


def _words(messages: Sequence[Message]) -> Iterable[str]:
    for message in messages:
        for block in message.blocks:
            match block:
                case Text(text=text):
                    yield text[:40_000]
                case ToolCall(input=given):
                    said = [str(fields(given).get(key, ""))[:4000] for key in _FIELDS]
                    yield " ".join(one for one in said if "*** Begin Patch" not in one)
                case _:
                    pass
        for result in message.results:
            yield result.text[:40_000]
