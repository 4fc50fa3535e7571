"""What each failure of Bedrock means, and what a person can do about it.

Pure: an exception is known by its class's name and by the code and message that came with it.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from foldmark.errors import SummarizerUnavailable
from foldmark.transcripts.fields import mapping

Kind: TypeAlias = Literal["busy", "broken", "slow", "too_long", "fatal"]
"""busy: wait and ask again. broken: ask once more. slow: ask once more, then for less. too_long:
ask for less. fatal: tell the user."""

_TOO_LONG = (
    *("prompt is too long", "input is too long", "input tokens exceeded", "maximum context length"),
    *("context_length_exceeded", "exceed context limit", "too many input tokens"),
    *("exceed model maximum", "too many total text bytes"),
)
_OTHERWISE = (
    "Try again, pass a `summary` of your own, or use summarizer='extractive', which needs no model."
)
_MODEL = "Set FOLDMARK_BEDROCK_MODEL to one that `aws bedrock list-inference-profiles` shows."
_MOST_SAID = 400
_RETRY_AFTER = "x-amz-retry-after"  # in milliseconds


class BedrockFailed(SummarizerUnavailable):
    """A call to Bedrock failed; `kind` tells whether asking again can help.

    `what` is the cause and `advice` the way out; `wait` is the time that a busy service asked for,
    in seconds.
    """

    def __init__(self, kind: Kind, what: str, advice: str = "") -> None:
        """Say what happened and what to do, in whole sentences."""
        said = f"Bedrock wrote no summary: {what} Nothing was lost: the history is as it was."
        super().__init__(" ".join(filter(None, (said, advice, _OTHERWISE))))
        self.kind: Kind = kind
        self.what, self.advice = what, advice
        self.wait = 0.0

    @property
    def short(self) -> str:
        """The cause and the way out alone, for where nothing was to be written."""
        return f"{self.what} {self.advice}".strip()


def explained(error: Exception, *, begun: bool = False) -> BedrockFailed:
    """Make of what boto3 raised, or of what urllib3 raised under it, an error to act on.

    Once an answer has `begun` it is paid for, so even a busy service is asked only once more.
    """
    response = mapping(getattr(error, "response", None))
    about = mapping(response.get("ResponseMetadata"))
    failed = _explained(error, mapping(response.get("Error")), about.get("HTTPStatusCode"))
    asked = str(mapping(about.get("HTTPHeaders")).get(_RETRY_AFTER, ""))
    failed.wait = int(asked) / 1000 if asked.isascii() and asked.isdigit() else 0.0
    if begun and failed.kind == "busy":
        failed.kind = "broken"
    return failed


def _explained(error: Exception, told: Mapping[str, Any], status: object) -> BedrockFailed:
    code = str(told.get("Code") or type(error).__name__)
    said = " ".join(str(told.get("Message") or error).split())[:_MOST_SAID]
    about = f"{code}: {said!r}."
    name = code[:1].upper() + code[1:]  # in a stream codes begin with a small letter
    if name == "ValidationException":
        return _invalid(about, said.lower())
    if said.startswith("Invalid endpoint:"):
        return BedrockFailed("fatal", f"it cannot be reached ({about})", _REACH)
    for known, kind, advice in _BY_NAME:
        if re.fullmatch(known, name):
            return _refined(kind, about, said, advice)
    if isinstance(status, int) and (status >= 500 or status == 429):
        return BedrockFailed("busy", f"the service failed ({about})", _LATER)
    return BedrockFailed("fatal", f"it answered with {about}")


def _refined(kind: Kind, about: str, said: str, advice: str) -> BedrockFailed:
    lowered = said.lower()
    if kind == "busy" and "per day" in lowered:
        return BedrockFailed(
            "fatal", f"the account's tokens for today are used up ({about})",
            "They come back within a day; Service Quotas in the AWS console can raise them.",
        )  # fmt: skip
    if "data retention" in lowered:
        advice = "This model needs a data retention mode that its page in the console lets you set."
    return BedrockFailed(kind, about, advice)


def _invalid(about: str, lowered: str) -> BedrockFailed:
    if any(words in lowered for words in _TOO_LONG):
        return BedrockFailed(
            "too_long", f"the session does not fit the model's window ({about})",
            "Set FOLDMARK_BEDROCK_CONTEXT to the model's window in tokens.",
        )  # fmt: skip
    if "on-demand throughput" in lowered:
        return BedrockFailed(
            "fatal", f"this model is only served through an inference profile ({about})",
            "Put the profile's id or ARN into FOLDMARK_BEDROCK_MODEL: the same id with a prefix "
            "such as us., eu. or global.",
        )  # fmt: skip
    if "model identifier is invalid" in lowered:
        return BedrockFailed("fatal", f"no such model in this region ({about})", _MODEL)
    if "maximum tokens" in lowered:
        return BedrockFailed(
            "fatal", f"the room for the answer is above the model's limit ({about})",
            "Set FOLDMARK_BEDROCK_MAX_OUTPUT to what the message allows.",
        )  # fmt: skip
    return BedrockFailed("fatal", f"the request was refused ({about})")


_LATER = "Wait some minutes and call again; what was finished is kept."
_CREDENTIALS = (
    "Renew them (`aws sso login`, `aws login`, or new keys or a new AWS_BEARER_TOKEN_BEDROCK), and "
    "start the server where it sees them. `foldmark doctor` shows what it sees."
)
_REACH = (
    "Check the network, the region in AWS_REGION, and AWS_ENDPOINT_URL_BEDROCK_RUNTIME if it is "
    "set. `foldmark doctor` shows what is used."
)
_BY_NAME: tuple[tuple[str, Kind, str], ...] = (
    (r"ThrottlingException|TooManyRequestsException|ModelNotReadyException", "busy", _LATER),
    (r"ServiceUnavailableException|InternalServerException|InternalFailure", "busy", _LATER),
    (r"ModelTimeoutException|ModelErrorException", "slow", _LATER),
    (r"ModelStreamErrorException", "broken", _LATER),
    (r"EventStreamError|ProtocolError|IncompleteRead|ParserError", "broken", _LATER),
    (r"ChecksumMismatch|InvalidHeadersLength|InvalidPayloadLength", "broken", _LATER),
    (r"ResponseStreamingError|ConnectionClosedError", "broken", _LATER),
    (r"ReadTimeoutError|ConnectionError|HTTPClientError", "broken", _LATER),
    (r"AccessDeniedException", "fatal",
     "Allow bedrock:InvokeModelWithResponseStream on this model in IAM, and ask for access to it "
     "on the Bedrock console's model access page."),
    (r"ResourceNotFoundException", "fatal",
     f"The model has ended, or its use-case form was never sent in. {_MODEL}"),
    (r"ServiceQuotaExceededException", "fatal", "Service Quotas in the AWS console can raise it."),
    (r"ExpiredToken.*|UnrecognizedClientException|InvalidSignatureException|InvalidClientTokenId",
     "fatal", f"The credentials are expired or wrong. {_CREDENTIALS}"),
    (r"TokenRetrievalError|UnauthorizedSSOTokenError|SSO.*|CredentialRetrievalError"
     r"|LoginRefreshRequired", "fatal", f"The credentials have to be renewed. {_CREDENTIALS}"),
    (r"NoCredentialsError|PartialCredentialsError|NoAuthTokenError", "fatal",
     f"There are no AWS credentials. {_CREDENTIALS}"),
    (r"NoRegionError|InvalidRegionError", "fatal", "Set AWS_REGION to a region with the model."),
    (r"ProfileNotFound", "fatal", "AWS_PROFILE names a profile that ~/.aws/config does not have."),
    (r"InvalidEndpointConfigurationError", "fatal",
     "A bearer token needs an endpoint with https; see AWS_ENDPOINT_URL_BEDROCK_RUNTIME."),
    (r"EndpointConnectionError|ConnectTimeoutError|ProxyConnectionError", "broken", _REACH),
    (r"SSLError", "fatal", _REACH),
)  # fmt: skip
