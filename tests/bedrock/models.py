"""The models that the double serves, and what each of them takes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Sampling = Literal["any", "one", "none"]

PROMPT_TOO_LONG = "prompt is too long: {n} tokens > {max} maximum"
INPUT_TOO_LONG = "Input is too long for requested model."
NOVA_TOO_LONG = (
    "Input Tokens Exceeded: Number of input tokens exceeds maximum length. "
    "Please update the input to try again."
)
LLAMA_TOO_LONG = (
    "This model's maximum context length is {max} tokens. Please reduce the length of the prompt"
)


@dataclass(frozen=True)
class Model:
    """What one model takes.

    `thinking` are the types that a request may name, and `omitted` the type that stands when it
    names none. `binds` says that thinking only counts after the very conversation it was written
    in. `strict_text` says that the model, and not the service before it, turns down blank text.
    """

    id: str
    context: int
    output: int
    thinking: frozenset[str] = frozenset()
    omitted: Literal["disabled", "adaptive"] = "disabled"
    claude: bool = True
    takes_reasoning: bool = True
    binds: bool = False
    prefill: bool = False
    sampling: Sampling = "none"
    strict_text: bool = True
    needs_profile: bool = True
    counts_tokens: bool = True
    caches: bool = True
    overflow: str = PROMPT_TOO_LONG


def _budgeted(id: str) -> Model:
    return Model(
        id,
        context=200_000,
        output=64_000,
        thinking=frozenset({"enabled", "disabled"}),
        prefill=True,
        sampling="one",
        strict_text=False,
        overflow=INPUT_TOO_LONG,
    )


def _either(id: str, output: int) -> Model:
    kinds = frozenset({"adaptive", "enabled", "disabled"})
    return Model(id, 1_000_000, output, thinking=kinds, sampling="any")


def _adaptive(
    id: str, *more: str, omitted: Literal["disabled", "adaptive"] = "adaptive", binds: bool = False
) -> Model:
    kinds = frozenset({"adaptive", *more})
    return Model(id, 1_000_000, 128_000, thinking=kinds, omitted=omitted, binds=binds)


def _other(
    id: str,
    context: int,
    output: int,
    *,
    needs_profile: bool,
    caches: bool = True,
    overflow: str = NOVA_TOO_LONG,
) -> Model:
    return Model(
        id,
        context,
        output,
        claude=False,
        takes_reasoning=False,
        prefill=True,
        sampling="any",
        strict_text=False,
        needs_profile=needs_profile,
        counts_tokens=False,
        caches=caches,
        overflow=overflow,
    )


_ALL = (
    _budgeted("anthropic.claude-haiku-4-5-20251001-v1:0"),
    _budgeted("anthropic.claude-sonnet-4-5-20250929-v1:0"),
    _budgeted("anthropic.claude-opus-4-5-20251101-v1:0"),
    _either("anthropic.claude-opus-4-6-v1", 128_000),
    _either("anthropic.claude-sonnet-4-6", 64_000),
    _adaptive("anthropic.claude-opus-4-7", "disabled", omitted="disabled"),
    _adaptive("anthropic.claude-opus-4-8", "disabled", omitted="disabled"),
    _adaptive("anthropic.claude-sonnet-5", "disabled"),
    _adaptive("anthropic.claude-opus-5", "disabled"),
    _adaptive("anthropic.claude-opus-5-5", binds=True),
    _adaptive("anthropic.claude-sonnet-5-5", "between_tools", binds=True),
    _adaptive("anthropic.claude-haiku-5-5", "disabled", binds=True),
    _adaptive("anthropic.claude-fable-5"),
    _adaptive("anthropic.claude-fable-5-1", binds=True),
    _adaptive("anthropic.claude-fable-5-2", binds=True),
    _other("amazon.nova-micro-v1:0", 128_000, 10_000, needs_profile=False),
    _other("amazon.nova-lite-v1:0", 300_000, 10_000, needs_profile=False),
    _other("amazon.nova-pro-v1:0", 300_000, 10_000, needs_profile=False),
    _other("amazon.nova-premier-v1:0", 1_000_000, 10_000, needs_profile=True),
    _other("amazon.nova-2-lite-v1:0", 1_000_000, 64_000, needs_profile=True),
    _other(
        "meta.llama3-3-70b-instruct-v1:0",
        128_000,
        8_192,
        needs_profile=True,
        caches=False,
        overflow=LLAMA_TOO_LONG,
    ),
)

MODELS: Mapping[str, Model] = {model.id: model for model in _ALL}
UNKNOWN = Model("", 0, 0)

_PREFIX = re.compile(r"(us|eu|apac|jp|au|ca|in|us-gov|global)\.(?=\w)")
_ARN = re.compile(
    r"arn:aws[\w-]*:bedrock:[\w-]*:\d*:"
    r"(?P<kind>foundation-model|inference-profile|application-inference-profile)/(?P<name>.+)"
)


@dataclass(frozen=True)
class Address:
    """What a model id says: the model, if it is known, and whether it goes by a profile."""

    model: Model
    profile: bool


def address(id: str, application: str) -> Address:
    """Read a model id or ARN; one of an application profile leads to the model `application`."""
    kind, name = "", id
    if arn := _ARN.fullmatch(id):
        kind, name = arn["kind"], arn["name"]
    if kind == "application-inference-profile":
        return Address(MODELS[application], profile=True)
    base = name if kind == "foundation-model" else _PREFIX.sub("", name, count=1)
    profile = base != name
    if kind == "inference-profile" and not profile:
        return Address(UNKNOWN, profile=True)
    return Address(MODELS.get(base, UNKNOWN), profile)
