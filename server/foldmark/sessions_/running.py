"""Compactions under way in this process, so that a repeated call joins and never pays twice."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


@dataclass(slots=True)
class _Job(Generic[_T]):
    task: asyncio.Task[_T]
    waiting: int = 0


class Running(Generic[_T]):
    """Jobs by the session they work on, one at a time for each."""

    def __init__(self) -> None:
        """Start with none."""
        self._jobs: dict[str, _Job[_T]] = {}

    async def join(
        self, session: str, start: Callable[[], Coroutine[Any, Any, _T]], wait: float | None
    ) -> _T | None:
        """Wait for the session's job, starting it if there is none; None after `wait` seconds.

        The job goes on then. It ends early only when the last caller that waits is cancelled.
        """
        job = self._jobs.get(session)
        if job is None or job.task.done():
            job = self._jobs[session] = _Job(asyncio.create_task(start()))
        job.waiting += 1
        try:
            done, _ = await asyncio.wait([job.task], timeout=wait)
        except asyncio.CancelledError:
            if job.waiting == 1:
                job.task.cancel()
            raise
        finally:
            job.waiting -= 1
        if not done:
            return None
        self._jobs.pop(session, None)
        return job.task.result()

    async def stop(self) -> None:
        """Cancel every job and wait until each has let go of the store."""
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._jobs.clear()
