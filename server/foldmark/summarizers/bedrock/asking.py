"""Asking until there is an answer: how often, and after what waits."""

import asyncio
import random
from dataclasses import dataclass

from foldmark.summarizers.bedrock.client import Client, Question, Reply
from foldmark.summarizers.bedrock.faults import BedrockFailed

_LONGEST_PAUSE = 20.0  # seconds, as boto3's own


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one answer is worth waiting for, all in seconds.

    `pause` is the first wait for a busy service, `total` the sum of all waits, and `answer` the
    time that one answer may take.
    """

    pause: float = 1.0
    total: float = 120.0
    answer: float = 900.0


async def ask(client: Client, question: Question, patience: Patience) -> Reply:
    """Ask a busy service again with growing waits, and for an answer that broke off once more.

    An answer is paid for even if it breaks off, so it is not asked for a third time.

    Raises:
        BedrockFailed: There is no answer, or none in time.

    """
    waited, pause, broken = 0.0, patience.pause, False
    while True:
        try:
            async with asyncio.timeout(patience.answer):
                return await client.ask(question)
        except TimeoutError:
            raise BedrockFailed(
                "fatal", f"it gave no whole answer within {patience.answer:,.0f} s."
            ) from None
        except BedrockFailed as error:
            wait = max(random.uniform(pause / 2, pause), error.wait)
            if error.kind in ("broken", "slow") and not broken:
                broken = True
            elif error.kind != "busy" or waited + wait > patience.total:
                raise _patient(error, waited) from error.__cause__
        await asyncio.sleep(wait)
        waited += wait
        pause = min(pause * 2, _LONGEST_PAUSE)


def _patient(error: BedrockFailed, waited: float) -> BedrockFailed:
    """Say how long a busy service was asked, and how long it wants to be left alone."""
    if error.kind != "busy":
        return error
    told = f"{error.what} It was asked again for {waited:,.0f} s."
    if error.wait:
        return BedrockFailed("busy", told, f"Wait {error.wait:,.0f} s and call again.")
    return BedrockFailed("busy", told, error.advice)
