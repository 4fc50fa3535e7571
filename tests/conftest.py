"""What all test modules share: a database of one's own, a store open on it, and a quick pace.

`--hypothesis-profile=thorough` looks for examples forty times as long.
"""

import gc
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import settings

from foldmark.store.store import Store, open_store

settings.register_profile("quick", max_examples=25)
settings.register_profile("thorough", max_examples=1000)
settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """Let no garbage collection look through thousands of collected tests again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(name="database")
def _database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "foldmark.db"


@pytest.fixture(name="store")
async def _store(database: Path) -> AsyncGenerator[Store]:
    async with open_store(database) as store:
        yield store
