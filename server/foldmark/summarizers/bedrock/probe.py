"""What of Bedrock can be known without spending a token: credentials, region, access to a model."""

import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from foldmark.summarizers.bedrock.client import connect
from foldmark.summarizers.bedrock.faults import BedrockFailed, explained

State: TypeAlias = Literal["ok", "problem", "unknown"]

_PROFILE = re.compile(
    r"(?:arn:aws[\w-]*:bedrock:[\w-]*:\d*:inference-profile/)?"
    r"(?P<prefix>(?:us|eu|apac|jp|au|ca|in|us-gov|global)\.)?(?P<model>anthropic\..+)"
)
_NOT_FREE = "cannot be known without spending tokens"
_SILENCE = 20  # seconds that a person waits for a hanging endpoint
_HELLO = {"converse": {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for, and what was found."""

    what: str
    state: State
    told: str


def findings(model: str, region: str) -> Iterator[Finding]:
    """Look for what a model needs, one thing after another; it stops where the rest must fail.

    Counting tokens is free, and tells of credentials, region and model at once; the service only
    counts for Claude, by the model's own id.
    """
    yield (credentials := _credentials())
    try:
        client = connect(region, silence=_SILENCE)
    except Exception as error:
        yield Finding("region", "problem", explained(error).short)
        return
    with closing(client):
        yield Finding("region", "ok", str(client.meta.region_name))
        if credentials.state == "ok":
            yield _access(client, model)


def _credentials() -> Finding:
    """Find out where they would come from; what they are is never shown."""
    import boto3
    from botocore.exceptions import NoCredentialsError

    if os.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
        return Finding("credentials", "ok", "the bearer token in AWS_BEARER_TOKEN_BEDROCK")
    try:
        session: Any = boto3.Session()
        found = session.get_credentials()
    except Exception as error:
        return Finding("credentials", "problem", explained(error).short)
    if found is None:
        return Finding("credentials", "problem", explained(NoCredentialsError()).short)
    return Finding("credentials", "ok", f"found by {found.method}")


def _access(client: Any, model: str) -> Finding:
    found = _PROFILE.fullmatch(model)
    if not found:
        return Finding("model", "unknown", f"access to {model!r} {_NOT_FREE}")
    try:
        client.count_tokens(modelId=found["model"], input=_HELLO)
    except Exception as error:
        return _refused(explained(error), model)
    if found["prefix"]:
        return Finding("model", "ok", f"{found['model']!r} answers these credentials")
    return Finding(
        "model",
        "unknown",
        f"{model!r} is there; most models are only served through a profile, an id with a prefix "
        f"such as us. or eu., and whether this one is {_NOT_FREE}",
    )


def _refused(error: BedrockFailed, model: str) -> Finding:
    said = error.short
    if "AccessDenied" in said and "CountTokens" in said:
        return Finding(
            "model",
            "unknown",
            f"access to {model!r} cannot be known: the credentials may not call "
            "bedrock:CountTokens, which would tell for free",
        )
    if "counting tokens" in said:
        return Finding("model", "unknown", f"access to {model!r} {_NOT_FREE}")
    return Finding("model", "problem", said)
