"""The demo: an example session is compacted over MCP, by a server of its own, and read back.

Everything happens in a temporary folder, so it needs no network and leaves nothing behind.
"""

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, cast

from mcp import Client, StdioServerParameters
from mcp.types import TextContent
from rich.text import Text

from foldmark.errors import FoldmarkError
from foldmark.requests import Json
from foldmark_server.screen import Screen, clean

EXAMPLE = Path(__file__).with_name("example")

_KEEP = 600  # tokens, so that most of a session this small folds
_SUMMARY_CHARS = "2600"
_BAR = 50  # columns for the size of the whole session
_REFUSAL = "I'm sorry, I can't summarize this conversation."


class DemoFailed(FoldmarkError):
    """The server did not do what the demo shows."""


async def show() -> None:
    """Start the server, do the work, and tell what is happening.

    Raises:
        DemoFailed: The server's answer is not what it must be.

    """
    screen = Screen()
    screen.say(("Foldmark demo: ", "bold"), "a real server over stdio, in a temporary folder")
    with tempfile.TemporaryDirectory(prefix="foldmark-demo-") as folder:
        transcript = _lay_out(Path(folder))
        try:
            async with Client(_server(Path(folder))) as client:
                await _tell(screen, client, {"transcript_path": str(transcript)})
        except BaseExceptionGroup as group:
            raise _cause(group) from None
    screen.say()
    screen.say("The folder is gone again. Your own sessions: ", ("foldmark sessions", "bold"))


async def _tell(screen: Screen, client: Client, session: Json) -> None:
    before = await _call(client, "get_history", **session)
    seen, _ = await _read(client, session)
    _step(screen, 1, f"A session of {before['assistant']}: {before['title']!r}")
    _say(
        screen,
        f"{before['total_messages']} messages, about {before['visible_tokens']:,} tokens, all of "
        "which the model reads again with every turn. There are thinking blocks, parallel tool "
        "calls, a screenshot and a subagent among them.",
    )

    _step(screen, 2, "A summarizer fails. Elsewhere that has cost people their session.")
    _call_line(screen, f"compact_session(summary={_REFUSAL!r})")
    refused = await client.call_tool("compact_session", {**session, "summary": _REFUSAL} | _keep())
    if not refused.is_error:
        raise DemoFailed("The server took a refusal for a summary. Please report this.")
    _say(screen, _text(refused.content).partition(" Write it")[0])
    if (await _read(client, session))[0] != seen:
        raise DemoFailed("A failed attempt changed the visible history. Please report this.")
    _say(screen, "Read again, the visible history is the same, character for character.")

    _step(screen, 3, "It is compacted, here without any model.")
    _call_line(screen, f"compact_session(keep_recent_tokens={_KEEP})")
    done = await _call(client, "compact_session", **session, **_keep())
    _bars(screen, done["tokens_before"], done["tokens_after"])
    _say(
        screen,
        f"{done['messages_folded']} messages folded behind a summary, "
        f"{done['messages_kept']} kept word for word. The summary:",
    )
    screen.say()
    for line in done["summary"].splitlines():
        _say(screen, line, "bold" if line.startswith("#") else "")

    _step(screen, 4, "What a model sees from now on.")
    _call_line(screen, "get_history()")
    visible, _ = await _read(client, session)
    for item in visible:
        summary = item["role"] == "summary"
        _one_line(screen, "[Summary]: the one above" if summary else item["text"])
    _call_line(screen, 'get_history(format="anthropic")')
    ready, _ = await _read(client, {**session, "format": "anthropic"})
    if _native(ready):
        raise DemoFailed("Native reasoning was handed out. Please report this.")
    _say(
        screen,
        f"The same as {len(ready)} messages, ready to send: roles alternate, every call has its "
        "result, and no thinking block or signature is left that an API could refuse.",
    )

    _step(screen, 5, "And nothing is lost.")
    _call_line(screen, 'get_history(view="full")')
    full, pages = await _read(client, {**session, "view": "full"})
    messages = [item for item in full if item["role"] in ("user", "assistant", "system")]
    if len(messages) != before["total_messages"]:
        raise DemoFailed("Not every message could be read back. Please report this.")
    states = Counter(item["state"] for item in messages)
    _say(
        screen,
        f"{len(messages)} of {before['total_messages']} messages read back, in {pages} pages: "
        f"{states['folded']} folded, {states['live']} live. The first one says:",
    )
    _one_line(screen, messages[0]["text"])


def _lay_out(folder: Path) -> Path:
    shutil.copytree(EXAMPLE, folder / "sessions")
    [transcript] = (folder / "sessions").glob("*.jsonl")
    return transcript


def _server(folder: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "foldmark_server"],
        cwd=folder,
        env={
            "FOLDMARK_DB": str(folder / "foldmark.db"),
            "FOLDMARK_ALLOWED_DIRS": str(folder / "sessions"),
            "FOLDMARK_SUMMARY_CHARS": _SUMMARY_CHARS,
            "CLAUDE_CONFIG_DIR": str(folder / "no-claude"),
        },
    )


def _keep() -> Json:
    return {"keep_recent_tokens": _KEEP}


async def _call(client: Client, tool: str, **arguments: Any) -> Json:
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        raise DemoFailed(_text(result.content))
    return result.structured_content


async def _read(client: Client, arguments: Json) -> tuple[list[Json], int]:
    """Read every page, and count them."""
    items: list[Json] = []
    pages = 0
    cursor = None
    while pages == 0 or cursor:
        page = await _call(client, "get_history", **arguments, cursor=cursor)
        items += page["messages"]
        cursor = page["next_cursor"]
        pages += 1
    return items, pages


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Take what went wrong out of the groups that the client's tasks put it into."""
    first = group.exceptions[0]
    if isinstance(first, BaseExceptionGroup):
        return _cause(cast("BaseExceptionGroup[BaseException]", first))
    return first


def _native(messages: list[Json]) -> list[Json]:
    """Find the blocks that hold what only a provider can read."""
    blocks: list[Json] = []
    for message in messages:
        if not isinstance(message["content"], str):
            blocks += message["content"]
    return [b for b in blocks if "thinking" in b["type"] or "signature" in b or "data" in b]


def _text(content: Any) -> str:
    return " ".join(block.text for block in content if isinstance(block, TextContent))


def _step(screen: Screen, number: int, words: str) -> None:
    screen.say()
    screen.say((f"{number}  {words}", "bold cyan"))


def _call_line(screen: Screen, words: str) -> None:
    screen.say((f"   > {words}", "dim"))


def _say(screen: Screen, words: str, style: str = "") -> None:
    """Write a paragraph, indented and wrapped between words."""
    text = Text(clean(words), style)
    for line in text.wrap(screen, max(screen.width - 3, 20)) or [Text()]:
        screen.print(Text("   ") + line)


def _one_line(screen: Screen, words: str) -> None:
    label, colon, rest = clean(" ".join(words.split())).partition("]:")
    line = Text.assemble("   ", (label + colon, "green"), rest)
    line.truncate(screen.width - 1, overflow="ellipsis")
    screen.print(line)


def _bars(screen: Screen, before: int, after: int) -> None:
    for name, size, style in (("before", before, "red"), ("after", after, "green")):
        filled = max(1, round(_BAR * size / max(before, 1)))
        screen.print(Text.assemble(f"   {name:<7}", ("█" * filled, style), f" {size:,} tokens"))
