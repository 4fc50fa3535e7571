"""What Copilot's events hold, made canonical: prompts, answers, what tools said.

The shapes are those of the published schema of session events, and what older versions wrote.
"""

import re
from collections.abc import Iterator
from typing import Any

from foldmark.messages import Attachment, Block, Reasoning, Text, ToolCall, ToolResult, Unknown
from foldmark.transcripts.blocks import decoded_size
from foldmark.transcripts.fields import count, dumps, items, mapping, name, text
from foldmark.transcripts.injected import told_apart
from foldmark.transcripts.parts import arguments
from foldmark.transcripts.record import Json

# Where a user's message came from; all other origins are programs, skills and agents.
_TYPED = frozenset({"", "user", "immediate-prompt", "command", "cli"})
_MEDIA = {
    "directory": "inode/directory",
    "selection": "text/plain",
    "extension_context": "application/json",
    "image": "image/*",
    "audio": "audio/*",
}

_MESSAGES = frozenset({"user.message", "assistant.message", "tool.execution_complete"})
_NOTICES = frozenset(
    {"system.notification", "session.mode_notice_delivered", "tool.user_requested"}
)

_FAMILIES = {
    "session": (
        "start resume remote_steerable_changed error idle title_changed schedule_created"
        " schedule_cancelled schedule_rearmed autopilot_objective_changed info warning"
        " model_change mode_changed mode_notice_delivered session_limits_changed"
        " permissions_changed plan_changed todos_changed workspace_file_changed handoff"
        " truncation snapshot_rewind shutdown usage_checkpoint context_changed usage_info"
        " context_cleared compaction_start compaction_complete task_complete binary_asset"
        " fusion_route_started fusion_route_failed fusion_resolved fusion_completed"
        " tools_updated background_tasks_changed skills_loaded custom_agents_updated"
        " mcp_servers_loaded mcp_server_status_changed extensions_loaded"
    ),
    "assistant": (
        "turn_start turn_end intent reasoning reasoning_delta message message_start"
        " message_delta streaming_delta tool_call_delta server_tool_progress usage idle"
        " fusion_phase_started fusion_phase_completed fusion_phase_failed"
    ),
    "user": "message",
    "system": "message notification",
    "tool": (
        "user_requested execution_start execution_partial_result execution_progress"
        " execution_complete"
    ),
    "subagent": "started configured completed failed selected deselected",
    "skill": "invoked",
    "model": "call_failure call_finished",
}
_KNOWN = frozenset(f"{family}.{one}" for family, all in _FAMILIES.items() for one in all.split())
# Of these a model never sees anything, whatever they will be.
_NEVER_SEEN = frozenset(
    {"hook", "permission", "user_input", "elicitation", "sampling", "mcp", "external_tool"}
    | {"command", "commands", "capabilities", "exit_plan_mode", "pending_messages", "tool_search"}
    | {"auto_mode_switch", "canvas", "factory"}
)


def is_known(type: str) -> bool:
    """Tell whether this is a type of event that was published."""
    return type == "abort" or type in _KNOWN or type.partition(".")[0] in _NEVER_SEEN


def is_message(type: str, data: Json) -> bool:
    """Tell whether an event holds something that a model saw, and no copy of it."""
    return type in _MESSAGES or (type in _NOTICES and bool(_notice(type, data).strip()))


def read(type: str, data: Json) -> Iterator[Block]:
    """Read the blocks of an event's message."""
    match type:
        case "user.message":
            yield from _said(data)
            yield from (_attachment(mapping(one)) for one in items(data.get("attachments")))
        case "assistant.message":
            yield from _answered(data)
        case "tool.execution_complete":
            yield _result(data)
        case _:
            yield Text(_notice(type, data), injected=True)


def is_typed(data: Json) -> bool:
    """Tell whether a user's message was typed by a person."""
    by_program = data.get("isAutopilotContinuation") is True or bool(
        mapping(data.get("crossSession"))
    )
    return name(data.get("source")) in _TYPED and not by_program


def _said(data: Json) -> Iterator[Block]:
    """Read what was typed, and what the program put around it before a model saw it."""
    typed, seen = text(data.get("content")), text(data.get("transformedContent"))
    if not is_typed(data):
        yield Text(seen or typed, injected=True)
        return
    lines = (
        re.search(rf"(?:\A|(?<=\n)){re.escape(typed)}(?=\n|\Z)", seen) if typed.strip() else None
    )
    before, after = (seen[: lines.start()], seen[lines.end() :]) if lines else (seen, "")
    if before.strip():
        yield Text(before.strip(), injected=True)
    if typed.strip():
        yield from told_apart([Text(typed)])
    if after.strip():
        yield Text(after.strip(), injected=True)


def _answered(data: Json) -> Iterator[Block]:
    thought = text(data.get("reasoningText"))
    if thought.strip():
        yield Reasoning(thought)
    elif any(data.get(k) for k in ("reasoningOpaque", "encryptedContent", "reasoningBlocks")):
        yield Reasoning("", redacted=True)
    if words := text(data.get("content")):
        yield Text(words)
    if mapping(data.get("serverTools")):
        yield Unknown("serverTools")
    for one in items(data.get("toolRequests")):
        call = mapping(one)
        given = arguments(call.get("arguments"))
        yield ToolCall(text(call.get("toolCallId")), text(call.get("name")), given)


def _result(data: Json) -> Block:
    """Read what a tool said to the model, not what was shown to the user."""
    result = data.get("result")
    told = mapping(result)
    failed = data.get("success") is False
    words = text(result) or text(told.get("content"))
    if not words and "content" not in told:
        words = text(told.get("detailedContent"))
    if failed and not words:
        words = text(mapping(data.get("error")).get("message"))
    if data.get("isUserRequested") is True:  # no model called for it
        return Text(words or "(no output)", injected=True)
    files = items(told.get("binaryResultsForLlm")) or items(told.get("contents"))
    attachments = tuple(
        _attachment(one) for one in map(mapping, files) if "mimeType" in one or "assetId" in one
    )
    return ToolResult(text(data.get("toolCallId")), words, failed, attachments)


def _notice(type: str, data: Json) -> str:
    """Tell what a program said in a user's place."""
    if type != "tool.user_requested":
        return text(data.get("content"))
    given = mapping(data.get("arguments"))
    command = text(given.get("command")) or dumps(data.get("arguments"))
    return f"The user ran {text(data.get('toolName'))}: {command}"


def _attachment(one: Json) -> Attachment:
    kind = text(one.get("type"))
    media_type = text(one.get("mimeType")) or _MEDIA.get(kind, "application/*")
    named = ("path", "filePath", "displayName", "title", "url", "description")
    size = count(one.get("byteLength")) or decoded_size(text(one.get("data")))
    called = next((value for key in named if (value := text(one.get(key)))), "")
    return Attachment(media_type, called, size or len(text(one.get("text"))))


def context(type: str, data: Json) -> Json:
    """Take the working directory and the branch that an event tells."""
    return data if type == "session.context_changed" else mapping(data.get("context"))


def model(type: str, data: Json) -> Any:
    """Take the model that an event selects."""
    return data.get("newModel") if type == "session.model_change" else data.get("selectedModel")
