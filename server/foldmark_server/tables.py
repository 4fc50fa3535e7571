"""Results as a person reads them."""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from foldmark.requests import ALL_PROJECTS, Compaction, History, Listed, Listing
from foldmark.summarizers.bedrock.probe import Finding
from foldmark_server.screen import Screen, clean, note, write_json

_DAY = 86_400
_STATUS = {
    "compacted": "Compacted",
    "preview": "Preview, nothing was changed:",
    "nothing_to_compact": "Nothing to compact in",
    "running": "Another Foldmark is compacting",
}
_FOUND_BY = {"transcript_path": "the path you gave", "session_id": "the id you gave"}
_STATES = {"ok": "green", "problem": "bold red", "unknown": "yellow"}
_STYLES = {"user": "cyan", "assistant": "green", "summary": "magenta", "marker": "yellow"}


def compaction(done: Compaction) -> None:
    """Show what a compaction did, or would do."""
    screen = Screen()
    screen.say((_STATUS[done.status], "bold"), " ", done.session_id)
    for name, value in _facts(done):
        screen.say((f"  {name:<12}", "dim"), value)
    if done.summary:
        screen.say()
        screen.say((f"Summary ({done.summarizer or 'by the assistant'})", "bold magenta"))
        screen.say(done.summary)
    screen.say()
    screen.say((_next_step(done), "dim"))
    for warning in done.warnings:
        note(warning)


def findings(found: Iterable[Finding]) -> None:
    """Show what was looked for, and whether it is there."""
    screen = Screen()
    for finding in found:
        screen.say(
            (f"{finding.state:<9}", _STATES[finding.state]),
            (f"{finding.what:<13}", "bold"),
            finding.told,
        )


def header(page: History) -> None:
    """Show which session is read and what is in force in it."""
    screen = Screen()
    screen.say(
        ("Session ", "bold"),
        (page.session_id, "bold"),
        (f"  found by {_FOUND_BY.get(page.how, page.how)}", "dim"),
    )
    about = [page.assistant, page.project, _one_line(page.title)]
    screen.say("  ", " · ".join(part for part in about if part))
    screen.say(
        f"  {page.total_messages:,} messages, {page.visible_messages:,} visible to a model "
        f"(about {page.visible_tokens:,} tokens)"
    )
    if boundary := page.boundary:
        screen.say(
            f"  boundary {boundary['compaction_id']} ({boundary['summarizer']}): "
            f"{boundary['messages_folded']:,} messages folded behind a summary of about "
            f"{boundary['summary_tokens']:,} tokens"
        )
    for orphan in page.orphans:
        screen.say(
            ("  orphan ", "yellow"), f"{orphan['compaction_id']}, hides nothing: {orphan['reason']}"
        )
    if page.forked_from:
        screen.say("  forked from ", page.forked_from)
    if page.subagents:
        screen.say("  subagents ", ", ".join(page.subagents))


def messages(page: History) -> None:
    """Show one page of messages, each under a line that labels it."""
    screen = Screen()
    for item in page.messages:
        folded = item["state"] != "live"
        label = [item["role"], item["state"], _moment(item.get("at", "")), item["id"]]
        style = "dim" if folded else _STYLES.get(item["role"], "bold")
        screen.say()
        screen.say(("── ", style), ("  ".join(filter(None, label)), style), (_part(item), style))
        screen.say((item["text"], "dim" if folded else ""))


def footer(page: History) -> None:
    """Tell how to read on."""
    for warning in page.warnings:
        note(warning)
    if page.next_cursor:
        note(f"There is more: repeat the command with --all, or with --cursor {page.next_cursor}")


def replayable(page: History) -> None:
    """Write messages that are ready to send, as one JSON array."""
    write_json(page.messages)
    footer(page)


def sessions(page: Listing) -> None:
    """Show a page of sessions, newest first."""
    screen = Screen()
    everywhere = page.project == ALL_PROJECTS
    where = "all projects" if everywhere else page.project
    if not page.sessions:
        screen.say(f"No sessions of {where} match." if page.total == 0 else "No more sessions.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Session", no_wrap=True, overflow="fold")
    table.add_column("Updated", no_wrap=True)
    table.add_column("About", ratio=1, overflow="fold")
    for one in page.sessions:
        table.add_row(Text(clean(one.id)), Text(_ago(one.updated)), _about(one, everywhere))
    screen.print(table)
    screen.say((f"{len(page.sessions):,} of {page.total:,} sessions of {where}", "dim"))
    if page.next_cursor:
        note(f"There are more: repeat the command with --cursor {page.next_cursor}")


def _facts(done: Compaction) -> list[tuple[str, str]]:
    found = _FOUND_BY.get(done.how, done.how)
    if done.status == "running":
        return [("found by", found)]
    less = 1 - done.tokens_after / done.tokens_before if done.tokens_before else 0
    shrunk = f" ({less:.0%} less)" if done.status != "nothing_to_compact" else ""
    facts = [
        ("found by", found),
        ("tokens", f"about {done.tokens_before:,} before, {done.tokens_after:,} after{shrunk}"),
        ("messages", f"{done.messages_folded:,} folded, {done.messages_kept:,} kept as they are"),
        ("billed", _billed(done)),
        ("compaction", done.compaction_id),
    ]
    return [(name, value) for name, value in facts if value]


def _billed(done: Compaction) -> str:
    if not done.input_tokens:
        return ""
    return f"{done.input_tokens:,} tokens read by the model, {done.output_tokens:,} written"


def _next_step(done: Compaction) -> str:
    match done.status:
        case "compacted":
            return (
                "Nothing was deleted. Every message: "
                f"foldmark history {done.session_id} --view full --all"
            )
        case "preview":
            return "Run the command without --preview to compact."
        case "nothing_to_compact":
            return "To fold more, lower --keep-recent-tokens."
        case "running":
            return "Run the command again when it has finished; nothing was changed by this one."


def _about(one: Listed, with_project: bool) -> Text:
    title = _one_line(one.title or one.first_prompt or "(no prompt)")
    details = [
        one.assistant,
        *([one.project] if with_project and one.project else []),
        *([] if one.imported else ["not imported yet"]),
        *(["transcript gone"] if one.gone else []),
    ]
    return Text.assemble(clean(title), "\n", (clean(" · ".join(details)), "dim"))


def _one_line(words: str) -> str:
    return " ".join(words.split())


def _part(item: dict[str, Any]) -> str:
    if "from" in item:
        return f"  characters {item['from'] + 1:,} to {item['from'] + len(item['text']):,}" + (
            f" of {item['chars']:,}"
        )
    if item.get("truncated"):
        return f"  the first {len(item['text']):,} of {item['chars']:,} characters"
    return ""


def _moment(at: str) -> str:
    """Show an ISO time in the time zone of this computer."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return ""


def _ago(moment: float) -> str:
    passed = time.time() - moment
    if passed >= 7 * _DAY or passed < 0:
        return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d")
    for name, seconds in (("d", _DAY), ("h", 3600), ("min", 60)):
        if passed >= seconds:
            return f"{passed // seconds:.0f} {name} ago"
    return "just now"
