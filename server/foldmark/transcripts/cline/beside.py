"""What stands beside a task's history: when its messages were said, by which model, at what cost.

Cline's `ui_messages.json` names the last message that was in the history when something was shown,
so that came before the next one. Roo's does not, and there a request belongs to the reply that
came after it.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foldmark.messages import ToolCall
from foldmark.transcripts import blocks, parts
from foldmark.transcripts.cline.content import milliseconds
from foldmark.transcripts.cline.task_content import answered, blocks_of
from foldmark.transcripts.fields import items, mapping, text
from foldmark.transcripts.record import Json

FILES = ("ui_messages.json", "task_metadata.json")

_ENVIRONMENT = "<environment_details>"
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \(([^\n]{1,1000}?)\) Files")
_MODEL = re.compile(r"<model>([^<\n]{1,200})</model>")
_TOKENS = ("tokensIn", "tokensOut", "cacheReads")


@dataclass(slots=True)
class Task:
    """What is known of a task: from the files beside its history, and from the messages so far.

    `times` and `usages` go by the places of messages in the history, `calls` tells for each call
    the record it stands in and its tool.
    """

    times: Mapping[int, float] = field(default_factory=dict[int, float])
    usages: Mapping[int, Json] = field(default_factory=dict[int, Json])
    models: deque[tuple[float, str]] = field(default_factory=deque[tuple[float, str]])
    model: str = ""
    folder: str = ""
    calls: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def of(self, place: int, told: Json) -> dict[str, Any]:
        """Tell what is known from elsewhere of the next message, and learn from its own words."""
        known: dict[str, Any] = {}
        ts = milliseconds(told.get("ts"))
        if not ts and (ts := self.times.get(place, 0)):
            known["ts"] = ts
        if told.get("role") != "assistant":
            self._look_around(told)
            tools = {call: self.calls[call][1] for call in answered(told) if call in self.calls}
            return {**known, "tools": tools} if tools else known
        while self.models and self.models[0][0] <= ts:
            self.model = self.models.popleft()[1]
        if self.model:
            known["model"] = self.model
        if usage := self.usages.get(place):
            known["usage"] = {key: usage.get(key) for key in _TOKENS}
        return known

    def note(self, id: str, told: Json) -> None:
        """Note which record a message became."""
        calls = (block for block in blocks_of(told) if isinstance(block, ToolCall))
        self.calls.update((call.id, (id, call.name)) for call in calls)

    def caller(self, told: Json) -> str:
        """Name the record whose calls a message answers: one is not kept without the other."""
        found = (self.calls[call][0] for call in answered(told) if call in self.calls)
        return next(found, "")

    def _look_around(self, told: Json) -> None:
        for part in blocks.parts(told.get("content")):
            words = part if isinstance(part, str) else text(part.get("text"))
            if words.lstrip().startswith(_ENVIRONMENT):
                if not self.folder and (found := _FOLDER.search(words)):
                    self.folder = found[1]
                if found := _MODEL.search(words):
                    self.model = found[1]


def task(native: Sequence[Any], shown: Any, metadata: Any) -> Task:
    """Collect what the files beside a history tell of its messages."""
    times: dict[int, float] = {}
    usages: dict[int, Json] = {}
    waiting: deque[tuple[float, Json]] = deque()
    for one in map(mapping, items(shown)):
        ts, last = milliseconds(one.get("ts")), _place(one.get("conversationHistoryIndex"))
        if last is not None and ts:
            times.setdefault(last + 1, ts)
        if one.get("say") == "api_req_started":
            request = mapping(parts.arguments(text(one.get("text"))))
            if last is not None:
                usages[last + 2] = request
            elif ts:
                waiting.append((ts, request))
    for place, one in enumerate(map(mapping, native)):
        ts = milliseconds(one.get("ts"))
        while one.get("role") == "assistant" and waiting and waiting[0][0] <= ts:
            usages[place] = waiting.popleft()[1]
    used = map(mapping, items(mapping(metadata).get("model_usage")))
    models = ((milliseconds(one.get("ts")), text(one.get("model_id"))) for one in used)
    return Task(times, usages, deque(models))


def _place(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
