"""What a person is told who asks why something does not work."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping

from foldmark.errors import FoldmarkError
from foldmark.offload import offload
from foldmark.sources.places import Places
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
    for finding in await offload(_transcripts, chosen.places):
        yield finding
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


def _transcripts(places: Places) -> list[Finding]:
    """Tell of each assistant how many sessions it keeps here, and of those without any at once."""
    there = Counter(one.reader.assistant for one in places.transcripts())
    found = [
        Finding("transcripts", "ok", f"{name} keeps {count:,} sessions in {_roots(places, name)}")
        for name, count in sorted(there.items())
    ]
    without = [reader.assistant for reader in places.readers if reader.assistant not in there]
    if without:
        words = f"none of {', '.join(without)}: they never ran here, or keep them elsewhere"
        found.append(Finding("transcripts", "unknown", words))
    return found


def _roots(places: Places, assistant: str) -> str:
    roots = [spot.root for spot in places.spots if spot.reader.assistant == assistant]
    return ", ".join(dict.fromkeys(repr(str(root)) for root in roots if root.exists()))
