"""Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`, JSON lines.

A response of the model is spread over one line per item (reasoning, words, calls); the items are
tied together here, with the line that tells what the response cost. Of what Codex writes twice,
as an item and as an event, the item counts.

    response  reasoning, message, call, call, tokens     one message
    outputs   output, output                             a message each
    response  message, tokens                            the next one

In early versions the tokens come before the items; then they are told once more behind them.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from foldmark import messages
from foldmark.messages import Attachment, Message, Text
from foldmark.transcripts.codex.items import (
    CALLS,
    OUTPUTS,
    TYPES,
    message,
    opened,
    recognizes,
    role,
    summary,
    usage,
)
from foldmark.transcripts.fields import count, digest, dumps, mapping, name, text
from foldmark.transcripts.record import Base, Json, Lines, Reader, Record, State, compaction

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FILE = re.compile(rf"rollout-.*?({_UUID})(?:_[\w.-]*)?\.jsonl(?:\.zst)?", re.IGNORECASE)
_FOLDER = re.compile(r"<cwd>([^<\n]+)</cwd>|^Current working directory: (.+)$", re.MULTILINE)
_LONGEST_TYPE = 60
_LARGEST = 2**53
_PROMPTS_KEPT = 200

_AWAITED = CALLS - {"web_search_call", "image_generation_call", "mcp_call"}
_UNSEEN = frozenset(
    {"ghost_snapshot", "additional_tools", "compaction_trigger", "other"}
    | {"compaction", "compaction_summary", "context_compaction"}  # encrypted
)
_EVENTS = frozenset(
    {"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"}
    | {"agent_reasoning_section_break", "context_compacted", "item_completed", "error", "warning"}
    | {"entered_review_mode", "exited_review_mode", "thread_settings_applied", "plan_update"}
    | {"exec_command_end", "patch_apply_end", "mcp_tool_call_end", "web_search_end"}
    | {"image_generation_end", "view_image_tool_call", "thread_goal_updated", "undo_completed"}
    | {"guardian_assessment", "dynamic_tool_call_request", "dynamic_tool_call_response"}
    | {"collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end"}
    | {"collab_close_end", "collab_resume_end", "sub_agent_activity"}
)


def records(record: Json, raw: bytes, state: State) -> Iterator[Record]:
    """Read one line for the log."""
    id = digest(raw)
    at = name(record.get("timestamp"))
    if not at:  # two bare items may be the same byte for byte
        state["bare"] = state.get("bare", 0) + 1
        id = f"{id}-{state['bare']}"
    outer, body = opened(record)
    other = Record("other", id, raw, at=at)
    match outer:
        case "session_meta":
            yield _meta(body, other, state)
        case "turn_context":
            _end(state)
            state["model"] = name(body.get("model")) or state.get("model", "")
            yield replace(other, project=_placed(text(body.get("cwd")), state))
        case "compacted":
            _end(state, turn=True)
            yield from compaction(other) if text(body.get("message")).strip() else (other,)
        case "token_usage_record":
            state["exact"] = True
            yield _priced(record, other, state)
        case "event_msg":
            yield _event(record, body, other, state)
        case "response_item" | "inter_agent_communication":
            yield from _item(record, body, other, state)
        case _:
            yield replace(other, unknown="" if outer in TYPES else _type(outer or "no type"))


def _item(record: Json, body: Json, other: Record, state: State) -> Iterator[Record]:
    speaker, kind = role(record), text(body.get("type"))
    if mapping(record.get("metadata")).get("compaction_output") is True:
        _end(state)  # the summary, which `compacted` tells again
        yield other
        return
    if speaker is None:
        known = kind in _UNSEEN
        yield replace(other, unknown="" if known else _type(f"response_item/{kind or 'no type'}"))
        return
    built = message("", [record])
    found = replace(other, kind="message", role=speaker, chars=messages.size(built.blocks))
    if speaker == "assistant":
        yield from _tied(found, kind, state)
        return
    if kind in OUTPUTS:
        state["answered"] = state.get("answered", 0) + 1
        yield found
        return
    _end(state)
    if built.prompt or any(isinstance(block, Attachment) for block in built.blocks):
        _end(state, turn=True)
        state["prompts"] = [*state.get("prompts", ())[1 - _PROMPTS_KEPT :], found.id]
    yield replace(found, prompt=built.prompt, project=_mentioned(built, state))


def _tied(found: Record, kind: str, state: State) -> Iterator[Record]:
    """Tie an item to the response that it is part of, or let it begin one.

    Once a call was answered, only calls that were made together with it can still follow.
    """
    first = state.get("response", "")
    answered = state.get("answered", 0)
    if first and answered and (kind not in CALLS or answered >= state.get("calls", 0)):
        first = ""
    if not first:
        state.update(response=found.id, turn=found.id, calls=0, answered=0)
    state["calls"] = state.get("calls", 0) + (kind in _AWAITED)
    model = state.get("model", "")
    yield replace(found, parent=first, message=first or found.id, model=model)
    for number, early in enumerate([] if first else state.pop("early", ())):
        yield Record(
            kind="other",
            id=f"{found.id}/{number}",
            raw=dumps({"type": "event_msg", "payload": early}).encode(),
            parent=found.id,
            message=found.id,
            at=found.at,
        )


def _event(record: Json, body: Json, other: Record, state: State) -> Record:
    match text(body.get("type")):
        case "token_count":
            totals = mapping(mapping(body.get("info")).get("total_token_usage"))
            total = min(count(totals.get("total_tokens")), _LARGEST)
            if state.get("exact") or total == state.get("total", 0):
                return other  # told again
            state["total"] = total  # nothing is told when a session is resumed
            return _priced(record, other, state)
        case "turn_aborted":
            first = state.get("turn", "")
            if "early" in state:
                state["early"].append({"type": "turn_aborted"})
                first = ""
            _end(state)
            return replace(other, parent=first, message=first)
        case "thread_rolled_back":
            return _rolled_back(min(count(body.get("num_turns")), _LARGEST), other, state)
        case "task_started" | "turn_started":
            _end(state, turn=True)
            return other
        case "task_complete" | "turn_complete":
            _end(state)
            return other
        case "thread_name_updated":
            return replace(other, title=text(body.get("thread_name")))
        case kind:
            unknown = "" if kind in _EVENTS else _type(f"event_msg/{kind or 'no type'}")
            return replace(other, unknown=unknown)


def _priced(record: Json, other: Record, state: State) -> Record:
    """Tie what a response cost to it; where its items are still to come, keep it for them."""
    found = usage(record)
    if found is None:
        return other
    if first := state.get("response", ""):
        _end(state)
        return replace(other, parent=first, message=first)
    if not state.get("exact"):
        told = {
            "input_tokens": found.input,
            "output_tokens": found.output,
            "cached_input_tokens": found.cached,
            "reasoning_output_tokens": found.reasoning,
        }
        told = {key: min(tokens, _LARGEST) for key, tokens in told.items()}
        state["early"] = [{"type": "token_count", "info": {"last_token_usage": told}}]
    return other


def _rolled_back(turns: int, other: Record, state: State) -> Record:
    """Take back the last `turns` prompts and what came of them."""
    _end(state, turn=True)
    prompts = state.get("prompts", [])
    if not turns or not prompts:
        return other
    first = max(len(prompts) - turns, 0)
    state["prompts"] = prompts[:first]
    return replace(other, kind="fork", replaces=prompts[first])


def _end(state: State, *, turn: bool = False) -> None:
    """Forget the response that was going on, or the whole turn."""
    for key in ("response", "turn", "early") if turn else ("response",):
        state.pop(key, None)


def _meta(body: Json, other: Record, state: State) -> Record:
    """Read what is said of the session; a fork that copied another's lines has its too."""
    id = name(body.get("id"))
    if id and id != state.setdefault("session", id):
        told = state.get("forked", False)
        state["forked"] = True
        return other if told else replace(other, forked_from=id)
    forked_from = name(body.get("forked_from_id"))
    state["forked"] = state.get("forked", False) or bool(forked_from)
    return replace(
        other,
        project=_placed(text(body.get("cwd")), state),
        branch=text(mapping(body.get("git")).get("branch")),
        parent_session=_parent(body),
        forked_from=forked_from,
    )


def _parent(meta: Json) -> str:
    """Name the session that a subagent worked for."""
    subagent = mapping(meta.get("source")).get("subagent")
    spawned = mapping(mapping(subagent).get("thread_spawn"))
    parent = name(meta.get("parent_thread_id")) or name(spawned.get("parent_thread_id"))
    whole = name(meta.get("session_id"))
    return parent or (whole if subagent and whole != meta.get("id") else "")


def _type(type: str) -> str:
    return name(type)[:_LONGEST_TYPE]


def _placed(folder: str, state: State) -> str:
    if folder:
        state["placed"] = True
    return folder


def _mentioned(built: Message, state: State) -> str:
    """Find the project's folder in what Codex told the model, where nothing else names it."""
    if state.get("placed"):
        return ""
    told = "\n".join(b.text for b in built.blocks if isinstance(b, Text) and b.injected)
    found = _FOLDER.search(told)
    return _placed((found[1] or found[2]).strip(), state) if found else ""


def _session(path: str, first: Json) -> str:
    """Name a session by its file, or where that has another name, by what it says first."""
    if found := _FILE.fullmatch(path.rpartition("/")[2]):
        return found[1].lower()
    outer, body = opened(first)
    return name(body.get("id")) if outer == "session_meta" else ""


def _base(first: Json) -> Base | None:
    """Tell what of another session a fork begins with, where it did not copy it."""
    body = opened(first)[1]
    told = mapping(body.get("history_base"))
    session, length = name(told.get("thread_id")), count(told.get("end_byte_offset"))
    own = session == body.get("id")
    return Base(session, length) if session and length and not own else None


def _place(folder: str, end: str = "") -> Lines:
    return Lines(
        roots=(f"$CODEX_HOME/{folder}", f"~/.codex/{folder}"),
        pattern=f"**/rollout-*.jsonl{end}",
        recognizes=recognizes,
        records=records,
        session=_session,
        base=_base,
        siblings=True,
    )


READER = Reader(
    assistant="codex",
    places=(
        _place("sessions"),
        _place("archived_sessions"),
        _place("sessions", ".zst"),
        _place("archived_sessions", ".zst"),
    ),
    message=message,
    summary=summary,
    hosts=("codex",),
)
"""Codex CLI, all versions from the bare items of mid-2025 to 0.171."""
