"""What a paid summarizer keeps of its work on one session; see `summary.Memory`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from foldmark.store.store import Store


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """The memory that lives in the store; `ours` raises once the session is somebody else's."""

    store: Store
    key: int
    ours: Callable[[], None]

    async def drafts(self) -> Mapping[str, str]:
        """Read what was written of this session and came to no summary yet, by its digest."""
        return await self.store.drafts(self.key)

    async def keep(self, digest: str, text: str) -> None:
        """Keep a piece that is written, unless another compaction took the session over."""
        self.ours()
        await self.store.keep_draft(self.key, digest, text)

    async def measured(self, model: str) -> tuple[float, int]:
        """Tell how much text a model was sent so far, in units, and the tokens it billed."""
        return await self.store.measured(model)

    async def measure(self, model: str, units: float, tokens: int) -> None:
        """Add one bill."""
        await self.store.measure(model, units, tokens)
