"""Asking until there is an answer: how often, and after what waits."""

import asyncio
import random
from dataclasses import dataclass

from foldmark.summarizers.bedrock.client import Asked, Question, Reply
from foldmark.summarizers.bedrock.faults import BedrockFailed

_LONGEST_PAUSE = 20.0  # seconds, as boto3's own


@dataclass(frozen=True, slots=True)
class Patience:
    """The first wait for a busy service, and the sum of all waits for one answer, in seconds."""

    pause: float = 1.0
    total: float = 120.0


async def ask(client: Asked, question: Question, patience: Patience) -> Reply:
    """Ask a busy service again with growing waits, and for an answer that broke off once more.

    An answer is paid for even if it breaks off, so it is not asked for a third time.

    Raises:
        BedrockFailed: There is no answer, or none in time.

    """
    waited, pause, broken = 0.0, patience.pause, False
    while True:
        try:
            return await client.ask(question)
        except BedrockFailed as error:
            if error.kind == "broken" and not broken:
                broken = True
            elif error.kind != "busy" or waited + pause > patience.total:
                raise
        wait = random.uniform(pause / 2, pause)
        await asyncio.sleep(wait)
        waited += wait
        pause = min(pause * 2, _LONGEST_PAUSE)
