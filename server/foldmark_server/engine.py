"""The engine over the user's settings; imported at the first call, as a start need not pay it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from foldmark.sessions.service import Sessions
from foldmark.store.store import open_store
from foldmark.summarizers.bedrock.client import Client
from foldmark.summarizers.bedrock.summarizer import Bedrock
from foldmark_server import settings


@asynccontextmanager
async def open_engine(environ: Mapping[str, str], *also_allowed: Path) -> AsyncGenerator[Sessions]:
    """Open the store that the settings name, and end what is under way before it closes.

    Transcripts under the folders `also_allowed` may be read too.

    Raises:
        InvalidRequest: A setting makes no sense.
        StoreError: The database cannot be used.

    """
    chosen = settings.read(environ)
    async with open_store(chosen.database) as store:
        places = chosen.places.also_allowing(also_allowed)
        client = Client(chosen.region)
        model = Bedrock(chosen.bedrock, client) if chosen.bedrock else None
        engine = Sessions(
            store,
            places,
            summary_chars=chosen.summary_chars,
            model=model,
            fallback=chosen.fallback,
        )
        try:
            yield engine
        finally:
            await engine.stop()
            client.close()
