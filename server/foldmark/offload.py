"""Work that goes on beside its caller: on another thread, or whatever becomes of the caller."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

_T = TypeVar("_T")

Progress: TypeAlias = Callable[[str, int, int], Awaitable[None]]
"""Told what is being done, how much of it is done, and how much there is."""


async def offload(function: Callable[..., _T], *arguments: Any) -> _T:
    """Run work that only needs the processor beside the event loop.

    In a daemon thread: a server whose host went away must not wait for it.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: object) -> None:
        if not future.done():
            set_it(value)

    def work() -> None:
        try:
            result = function(*arguments)
        except BaseException as error:
            done = (future.set_exception, error)
        else:
            done = (future.set_result, result)
        try:
            loop.call_soon_threadsafe(settle, *done)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=work, daemon=True).start()
    return await future


async def unbroken(work: Coroutine[Any, Any, _T]) -> _T:
    """Finish work that must not stop half-way, however often its caller is cancelled meanwhile."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled and not task.cancelled():
        raise cancelled
    return task.result()
