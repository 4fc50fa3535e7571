"""The engine over the user's settings. Imported at the first call, since a start need not pay it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from foldmark.sessions.service import Sessions
from foldmark.store.store import open_store
from foldmark_server import settings


@asynccontextmanager
async def open_engine(environ: Mapping[str, str]) -> AsyncGenerator[Sessions]:
    """Open the store that the settings name, and end what is under way before it closes.

    Raises:
        InvalidRequest: A setting makes no sense.
        StoreError: The database cannot be used.

    """
    chosen = settings.read(environ)
    async with open_store(chosen.database) as store:
        engine = Sessions(store, chosen.folders, summary_chars=chosen.summary_chars)
        try:
            yield engine
        finally:
            await engine.stop()
