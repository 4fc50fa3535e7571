"""What several test modules share: a database of one's own, and a store open on it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from foldmark.store.store import Store, open_store


@pytest.fixture(name="database")
def _database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "foldmark.db"


@pytest.fixture(name="store")
async def _store(database: Path) -> AsyncGenerator[Store]:
    async with open_store(database) as store:
        yield store
