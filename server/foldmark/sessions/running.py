"""Compactions under way in this process, so that a repeated call joins and never pays twice."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


@dataclass(slots=True)
class _Job(Generic[_T]):
    """A job, what it was asked for, and how many callers wait for it."""

    task: asyncio.Task[_T]
    asked: Hashable
    waiting: int = 0

    def serves(self, asked: Hashable) -> bool:
        """Tell whether its result, there or to come, answers what is asked now."""
        return self.asked == asked and not self.task.cancelling()


class Running(Generic[_T]):
    """Jobs by the session they work on, one at a time for each."""

    def __init__(self) -> None:
        """Start with none."""
        self._jobs: dict[str, _Job[_T]] = {}

    async def join(
        self,
        session: str,
        asked: Hashable,
        start: Callable[[], Coroutine[Any, Any, _T]],
        wait: float | None,
    ) -> _T | None:
        """Wait for the session's job, starting it if there is none; None after `wait` seconds.

        A job that was asked for something else, or is being cancelled, is waited out first. A job
        goes on when nobody waits any more, and ends early only when its last caller is cancelled.
        """
        loop = asyncio.get_running_loop()
        deadline = None if wait is None else loop.time() + wait

        def left() -> float | None:
            return None if deadline is None else max(deadline - loop.time(), 0)

        while (job := self._jobs.get(session)) and not job.serves(asked):
            if job.task.done():
                del self._jobs[session]
            elif not (await asyncio.wait([job.task], timeout=left()))[0]:
                return None
        if job is None:
            job = self._jobs[session] = _Job(asyncio.create_task(start()), asked)
        job.waiting += 1
        try:
            done, _ = await asyncio.wait([job.task], timeout=left())
        except asyncio.CancelledError:
            if job.waiting == 1:
                job.task.cancel()
            raise
        finally:
            job.waiting -= 1
        if not done:
            return None
        if self._jobs.get(session) is job:
            del self._jobs[session]
        return job.task.result()

    async def stop(self) -> None:
        """Cancel every job and wait until each has let go of the store."""
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._jobs.clear()
