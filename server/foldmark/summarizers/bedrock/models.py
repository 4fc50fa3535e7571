"""What is known of the models that Bedrock serves: their windows, and how densely they read.

An id may carry a region's prefix or be the ARN of a profile. One that names no model most likely
stands for a Claude, which needs room to think; of a model that nobody knows the least that current
ones offer is assumed. The settings can say more.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """Limits in tokens; `tokens_a_unit` is the first guess, see `units`.

    From the vendors' pages of autumn 2026. The tokenizer of Opus 4.7 and later makes 1.2 to 1.5
    times as many tokens of the same text as the one before.
    """

    context: int
    output: int
    tokens_a_unit: float = 1.0


_DENSE = 1.4
_KNOWN: tuple[tuple[str, Model], ...] = (
    (r"claude-(?:haiku|sonnet|opus)-4-5", Model(200_000, 64_000)),
    (r"claude-sonnet-4-6", Model(1_000_000, 64_000)),
    (r"claude-opus-4-6", Model(1_000_000, 128_000)),
    (r"claude-(?:opus-(?:4-[78]|5)|sonnet-5|haiku-5|fable-|mythos)",
     Model(1_000_000, 128_000, _DENSE)),
    (r"claude-", Model(200_000, 4_096)),
    (r"nova-micro", Model(128_000, 5_000)),
    (r"nova-(?:lite|pro)", Model(300_000, 5_000)),
    (r"nova-premier", Model(1_000_000, 10_000)),
    (r"nova-2-lite", Model(1_000_000, 64_000)),
    (r":(?:application-inference-profile|provisioned-model)/", Model(128_000, 16_000, _DENSE)),
)  # fmt: skip
_UNKNOWN = Model(128_000, 4_096, _DENSE)

_ASCII_UNIT = 0.25  # tokens a character; English by the older Claude vocabulary
_OTHER_UNIT = 0.88  # Chinese by the same


def known(id: str) -> Model:
    """Look a model up by its id, its profile's id or an ARN."""
    return next((model for name, model in _KNOWN if re.search(name, id)), _UNKNOWN)


def units(text: str) -> float:
    """Measure a text in what are tokens of the older Claude vocabulary, roughly.

    A model's own tokens are these times a factor, which its bills correct.
    """
    plain = len(text.encode("ascii", "ignore"))
    return plain * _ASCII_UNIT + (len(text) - plain) * _OTHER_UNIT
