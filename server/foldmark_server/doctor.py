"""What a person is told who asks why something does not work."""

from collections.abc import AsyncGenerator, Mapping

from foldmark.errors import FoldmarkError
from foldmark.offload import offload
from foldmark.store.store import open_store
from foldmark.summarizers.bedrock import probe
from foldmark.summarizers.bedrock.probe import Finding
from foldmark_server import settings


async def findings(environ: Mapping[str, str]) -> AsyncGenerator[Finding]:
    """Look at the settings, the database, the transcripts and, if a model is set, Bedrock.

    Nothing is imported, and no token is spent.
    """
    try:
        chosen = settings.read(environ)
    except FoldmarkError as error:
        yield Finding("settings", "problem", str(error))
        return
    yield Finding("settings", "ok", "every value makes sense")
    try:
        async with open_store(chosen.database) as store:
            held = len(await store.sessions())
        yield Finding("database", "ok", f"{str(chosen.database)!r} holds {held:,} sessions")
    except FoldmarkError as error:
        yield Finding("database", "problem", str(error))
    projects = chosen.folders.projects
    if projects.is_dir():
        yield Finding("transcripts", "ok", f"Claude Code keeps its sessions in {str(projects)!r}")
    else:
        yield Finding(
            "transcripts",
            "unknown",
            f"{str(projects)!r} is not there: Claude Code never ran, or CLAUDE_CONFIG_DIR is "
            "elsewhere",
        )
    if chosen.bedrock is None:
        yield Finding(
            "model",
            "unknown",
            "FOLDMARK_BEDROCK_MODEL is not set: summaries come from the caller or are made offline",
        )
        return
    model, region = chosen.bedrock.model, chosen.region
    for finding in await offload(lambda: list(probe.findings(model, region))):
        yield finding
