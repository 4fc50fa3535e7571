"""The command line: the work of the three tools, for a person."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from foldmark.requests import (
    ALL_PROJECTS,
    FEWEST_CHARS,
    MOST_CHARS,
    Caller,
    Choice,
    Compact,
    Filter,
    Format,
    History,
    Listing,
    Query,
    View,
)
from foldmark.sessions.service import Sessions
from foldmark_server import __version__, arguments, paging, tables
from foldmark_server.engine import open_engine
from foldmark_server.screen import FAILED, Bar, exits, write_json

EXIT_CODES = """\b
Exit codes:
  0    done; also when there was nothing to compact
  1    Foldmark could not do it, and changed nothing
  2    wrong usage
  130  interrupted"""

_T = TypeVar("_T")

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Target = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH|SESSION",
        show_default=False,
        help="A transcript file or a session's id. By default the session of the folder you are "
        "in, if there is only one it can be.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print what the MCP tool returns, and nothing else.")
]


def run() -> None:
    """Carry out the arguments of this process."""
    # Transcripts are UTF-8, whatever the locale says of this terminal or pipe.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    app(prog_name="foldmark")


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"foldmark {__version__}\n")
        raise typer.Exit


@app.callback(epilog=EXIT_CODES)
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Compact the sessions of coding assistants and never lose them.

    Without any argument foldmark is an MCP server over stdio: that is how an assistant starts it.
    """


@app.command(epilog=EXIT_CODES)
def compact(
    target: Target = None,
    summary: Annotated[
        str | None, typer.Option(help="Your own summary; its last section must be 'Next step:'.")
    ] = None,
    summary_file: Annotated[
        Path | None,
        typer.Option(allow_dash=True, help="A file that holds your summary; - reads stdin."),
    ] = None,
    instructions: Annotated[str, typer.Option(help="What to keep above all.")] = "",
    keep_recent_tokens: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Recent tokens to keep word for word.")
    ] = 8000,
    summarizer: Annotated[
        Choice,
        typer.Option(
            help="auto: your summary if there is one, else Bedrock if set up, else extractive "
            "(offline)."
        ),
    ] = "auto",
    preview: Annotated[bool, typer.Option("--preview", help="Show, and change nothing.")] = False,
    json: AsJson = False,
) -> None:
    """Fold the older part of a session behind a summary. No message is lost."""
    which, folder = arguments.which(target)
    with exits():
        text = arguments.summary(summary, summary_file)
        wish = Compact(text, instructions, keep_recent_tokens, summarizer, preview)
        done = _work(
            folder, lambda engine, seen: engine.compact(which, wish, _caller(), seen.report)
        )
        if json:
            from foldmark_tools import compact_session

            write_json(compact_session.result(done).model_dump(mode="json"))
        else:
            tables.compaction(done)
        if done.status == "running":
            raise typer.Exit(FAILED)


@app.command(epilog=EXIT_CODES)
def history(
    target: Target = None,
    view: Annotated[
        View, typer.Option(help="visible: what a model sees now; full: every message and marker.")
    ] = "visible",
    format: Annotated[
        Format, typer.Option(help="text, or a JSON array of messages ready for that API.")
    ] = "text",
    cursor: Annotated[str, typer.Option(help="Where the page before ended.")] = "",
    max_chars: Annotated[
        int, typer.Option(min=FEWEST_CHARS, max=MOST_CHARS, help="Characters in a page.")
    ] = 10_000,
    include_reasoning: Annotated[
        bool, typer.Option("--include-reasoning", help="Add readable thinking as text.")
    ] = False,
    message_id: Annotated[str, typer.Option(help="Read this one message, in slices.")] = "",
    all: Annotated[bool, typer.Option("--all", help="Read every page, long messages whole.")] = (
        False
    ),
    json: AsJson = False,
) -> None:
    """Read what a model now sees of a session, or any part of the original."""
    which, folder = arguments.which(target)
    query = Query(view, format, cursor, max_chars, include_reasoning, message_id)

    async def read(engine: Sessions, seen: Bar) -> None:
        if not all:
            page = await engine.history(which, query, _caller(), seen.report)
        elif json or format != "text" or message_id or view == "summary":
            page = await paging.joined(paging.pages(engine, which, query, _caller(), seen.report))
        else:
            await _stream(paging.pages(engine, which, query, _caller(), seen.report), seen)
            return
        seen.close()
        if json:
            from foldmark_tools import get_history

            write_json(get_history.result(page).model_dump(mode="json"))
        elif format != "text":
            tables.replayable(page)
        else:
            tables.header(page)
            tables.messages(page)
            tables.footer(page)

    with exits():
        _work(folder, read)


@app.command(epilog=EXIT_CODES)
def sessions(
    project: Annotated[
        str,
        typer.Option(help="A folder, or '*' for all projects.", show_default="the current folder"),
    ] = "",
    assistant: Annotated[str, typer.Option(help="Such as claude-code or messages.")] = "",
    query: Annotated[
        str, typer.Option(help="Words in a session's id, title, prompts or project.")
    ] = "",
    cursor: Annotated[str, typer.Option(help="Where the page before ended.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=50, help="Sessions in a page.")] = 20,
    json: AsJson = False,
) -> None:
    """List the sessions there are, newest first, imported or not."""
    if project not in ("", ALL_PROJECTS):
        project = str(Path(project).expanduser().absolute())
    wanted = Filter(project, assistant, query, cursor, limit)

    async def listed(engine: Sessions, _: Bar) -> Listing:
        return await engine.list(wanted, _caller())

    with exits():
        page = _work(None, listed)
        if json:
            from foldmark_tools import list_sessions

            write_json(list_sessions.result(page).model_dump(mode="json"))
        else:
            tables.sessions(page)


@app.command(epilog=EXIT_CODES)
def demo() -> None:
    """See it work: compact an example session over MCP, in a folder that is removed again."""
    from foldmark_server import demo

    with exits():
        asyncio.run(demo.show())


@app.command(epilog=EXIT_CODES)
def doctor() -> None:
    """See what is missing: settings, database, credentials, access to a model. Spends no tokens."""
    from foldmark_server import doctor

    async def look() -> bool:
        found = [finding async for finding in doctor.findings(os.environ)]
        tables.findings(found)
        return any(finding.state == "problem" for finding in found)

    with exits():
        if asyncio.run(look()):
            raise typer.Exit(FAILED)


@app.command()
def serve() -> None:
    """Serve over stdio, as foldmark does without any argument."""
    from foldmark_server.app import build

    build().run()


def _work(folder: Path | None, job: Callable[[Sessions, Bar], Awaitable[_T]]) -> _T:
    """Do one job with an open engine; a file in `folder` may be read, too."""

    async def work() -> _T:
        with closing(Bar()) as seen:
            # The path comes from the person at the keyboard, not from an assistant.
            also = (folder,) if folder else ()
            async with open_engine(os.environ, *also) as engine:
                return await job(engine, seen)

    return asyncio.run(work())


async def _stream(pages: AsyncGenerator[History], seen: Bar) -> None:
    """Show pages as they come: a long session need not fit the memory."""
    first = True
    async for page in pages:
        seen.close()
        if first:
            tables.header(page)
            for warning in page.warnings:
                tables.note(warning)
        tables.messages(page)
        first = False


def _caller() -> Caller:
    return Caller.of({}, os.environ, Path.cwd())
