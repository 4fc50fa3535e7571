"""The double turns down what Bedrock turns down, and answers as Bedrock answers."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.eventstream import ParserError
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import ProtocolError

from bedrock import outcomes, signing
from bedrock.call import tokens
from bedrock.models import MODELS
from bedrock.outcomes import (
    BREAKS,
    EMPTIES,
    ERRORS,
    FAILURES,
    STOPS,
    Answer,
    Failure,
    Held,
    StreamFailure,
)
from bedrock.rules import PREFIX, RULES
from bedrock.server import FakeBedrock

Json = dict[str, Any]

HAIKU_4_5 = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
SONNET_4_6 = "us.anthropic.claude-sonnet-4-6"
OPUS_4_8 = "global.anthropic.claude-opus-4-8"
HAIKU_5_5 = "us.anthropic.claude-haiku-5-5"
NOVA = "amazon.nova-micro-v1:0"
LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"

MODIFIED = (
    "{}messages.{}.content.{}: `thinking` or `redacted_thinking` blocks in the latest assistant "
    "message cannot be modified. These blocks must remain as they were in the original response."
)
SMALL = 1_000
LONG = "word " * SMALL
LENGTH = tokens(LONG)


@pytest.fixture(name="bedrock", scope="module")
def _bedrock() -> Iterator[FakeBedrock]:
    small = (SONNET_4_6, HAIKU_4_5, f"us.{NOVA}", LLAMA)
    with FakeBedrock(contexts={id.partition(".")[2]: SMALL for id in small}) as bedrock:
        yield bedrock


@pytest.fixture(name="client", scope="module")
def _client(bedrock: FakeBedrock) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
        for name, value in bedrock.environ.items():
            patch.setenv(name, value)
        client = connect()
        yield client
        client.close()


@pytest.fixture(autouse=True)
def _fresh(bedrock: FakeBedrock) -> None:
    bedrock.script.clear()
    bedrock.default = None
    bedrock.requests.clear()
    bedrock.refusals.clear()


def connect(read_timeout: float = 5.0) -> Any:
    config = Config(read_timeout=read_timeout, retries={"total_max_attempts": 1})
    session: Any = boto3.Session()
    return session.client("bedrock-runtime", config=config)


# Requests in short: turns alternate, beginning with the user; a string is one text block.


def talk(*turns: str | list[Json]) -> list[Json]:
    return [
        {
            "role": ("user", "assistant")[at % 2],
            "content": [{"text": turn}] if isinstance(turn, str) else turn,
        }
        for at, turn in enumerate(turns)
    ]


def text(words: str = "ok") -> Json:
    return {"text": words}


def think(words: str = "Hm.") -> Json:
    return signing.issued([words])[0]


def written(words: str, signature: str | None = None) -> Json:
    signed = {} if signature is None else {"signature": signature}
    return {"reasoningContent": {"reasoningText": {"text": words} | signed}}


def use(id: str = "t1", name: str = "bash") -> Json:
    return {"toolUse": {"toolUseId": id, "name": name, "input": {}}}


def result(id: str = "t1", *parts: Json, **more: str) -> Json:
    held = list(parts) or [{"text": "done"}]
    return {"toolResult": {"toolUseId": id, "content": held} | more}


def document(name: str = "notes") -> Json:
    return {"document": {"name": name, "format": "txt", "source": {"bytes": b"x"}}}


IMAGE: Json = {"image": {"format": "png", "source": {"bytes": b"x"}}}
CACHE: Json = {"cachePoint": {"type": "default"}}
TOOLS: Json = {
    "toolConfig": {"tools": [{"toolSpec": {"name": "bash", "inputSchema": {"json": {}}}}]}
}


def thinking(**more: Any) -> Json:
    return {"additionalModelRequestFields": {"thinking": more}}


BUDGET = thinking(type="enabled", budget_tokens=2_000)
HELLO = talk("hello")


@dataclass(frozen=True)
class Case:
    """A request that breaks one rule, its answer, and the nearest one that breaks none.

    `good` and `good_model` are what the neighbor has in place of the request's own.
    """

    rule: str
    messages: list[Json]
    message: str
    good: list[Json] = field(default_factory=lambda: HELLO)
    model: str = SONNET_4_6
    more: Json = field(default_factory=dict[str, Any])
    good_model: str = ""
    good_more: Json | None = None
    code: str = "ValidationException"
    status: int = 400


def same(case: Case) -> str:
    return case.rule


CASES = [
    Case("A1", HELLO, "The provided model identifier is invalid.", model="us.anthropic.claude-9"),
    Case(
        "A2",
        HELLO,
        "Invocation of model ID anthropic.claude-sonnet-4-6 with on-demand throughput isn\u2019t "
        "supported. Retry your request with the ID or ARN of an inference profile that contains "
        "this model.",
        model="anthropic.claude-sonnet-4-6",
    ),
    Case("S1", [], ""),
    Case(
        "S2",
        talk("a", [], "b"),
        "The content field in the Message object at messages.1 is empty. Add a ContentBlock object "
        "to the content field and try again.",
        talk("a", "b", "c"),
    ),
    Case(
        "S3",
        talk("a", "b", "c")[1:],
        "A conversation must start with a user message. Try again with a conversation that starts "
        "with a user message.",
    ),
    Case(
        "S4",
        [*talk("a", "b", "c"), *talk("d")],
        "A conversation must alternate between user and assistant roles. Make sure the "
        "conversation alternates between user and assistant roles and try again.",
        talk("a", "b", "c", "d", "e"),
    ),
    Case(
        "S5",
        talk([text("a"), text(" ")]),
        "The text field in the ContentBlock object at messages.0.content.1 is blank. Add text to "
        "the text field, and try again.",
        model=HAIKU_4_5,
    ),
    Case(
        "S6",
        talk("a", [use()], [result()]),
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        talk("a", [use()], [result()]),
        good_more=TOOLS,
    ),
    Case(
        "S7",
        talk("a", [use("t1"), use("t2"), use("t3")], [result("t2")]),
        "Expected toolResult blocks at messages.2.content for the following Ids: t1, t3",
        talk("a", [use("t1"), use("t2")], [result("t2"), result("t1")]),
        more=TOOLS,
    ),
    Case(
        "S8",
        talk("a", "b", [result("t1")]),
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse "
        "blocks of previous turn.",
        talk("a", [use()], [result()]),
        more=TOOLS,
    ),
    Case(
        "S9",
        talk(
            "a",
            [use()],
            [{"toolResult": {"toolUseId": "t1", "content": [], "status": "error"}}],
        ),
        "The content field at messages.2.content.0.toolResult cannot be empty when status value "
        "is error.",
        talk("a", [use()], [result("t1", text("no such file"), status="error")]),
        more=TOOLS,
    ),
    Case(
        "S10",
        talk("a", [use()], [result("t1", text(), {"json": [1]})]),
        "The format of the value at messages.2.content.0.toolResult.content.1.json is invalid. "
        "Provide a json object for the field and try again.",
        talk("a", [use()], [result("t1", text(), {"json": {"a": [1]}})]),
        more=TOOLS,
    ),
    Case(
        "S11",
        talk("a", [use("call|fc")], [result("call|fc")]),
        "",
        talk("a", [use("t" * 64)], [result("t" * 64)]),
        more=TOOLS,
    ),
    Case(
        "S11",
        talk("a", [use(name="read file")], [result()]),
        "",
        talk("a", [use(name="read_file")], [result()]),
        more=TOOLS,
    ),
    Case(
        "S12",
        talk([text(), document("notes.v2")]),
        "The document file name can only contain alphanumeric characters, whitespace characters, "
        "hyphens, parentheses, and square brackets. The name can't contain more than one "
        "consecutive whitespace character. Check that the file name conforms to these "
        "restrictions and retry your request.",
        talk([text(), document("notes (v_2) [a-b]")]),
    ),
    Case(
        "S13",
        talk([document()]),
        "A text block must be included when using documents.",
        talk([document(), text()]),
    ),
    Case("S14", talk([IMAGE] * 21), "", talk([IMAGE] * 20)),
    Case(
        "S15",
        talk([text(), CACHE]),
        "You invoked an unsupported model or your request did not allow prompt caching.",
        talk([text(), CACHE]),
        model=LLAMA,
        good_model=NOVA,
        code="AccessDeniedException",
        status=403,
    ),
    Case(
        "S16",
        talk("a", [think(), text()], "b"),
        "User messages cannot contain reasoning content. Please remove the reasoning content and "
        "try again.",
        talk("a", [text()], "b"),
        model=NOVA,
    ),
    Case(
        "S17",
        HELLO,
        "",
        more={"inferenceConfig": {"maxTokens": 64_001}},
        good_more={"inferenceConfig": {"maxTokens": 64_000}},
    ),
    Case(
        "M1",
        talk("a\ud83d b"),
        "The request body is not valid JSON: no low surrogate in string: "
        "line 1 column 61 (char 60)",
        talk("a\U0001f600 \\ud83d"),
    ),
    Case("M2", HELLO, "", model=OPUS_4_8, more=BUDGET, good_more=thinking(type="adaptive")),
    Case(
        "M3",
        HELLO,
        "",
        more=thinking(type="enabled", budget_tokens=1_023),
        good_more=thinking(type="enabled", budget_tokens=1_024),
    ),
    Case(
        "M4",
        HELLO,
        "",
        more=BUDGET | {"inferenceConfig": {"maxTokens": 2_000}},
        good_more=BUDGET | {"inferenceConfig": {"maxTokens": 2_001}},
    ),
    Case(
        "M5",
        HELLO,
        "",
        more=BUDGET | {"inferenceConfig": {"temperature": 0.5}},
        good_more=BUDGET | {"inferenceConfig": {"temperature": 1.0}},
    ),
    Case(
        "M5",
        HELLO,
        "",
        model=OPUS_4_8,
        more={"inferenceConfig": {"topP": 0.5}},
        good_more={"inferenceConfig": {"maxTokens": 500}},
    ),
    Case(
        "M6",
        talk("a", [written("Hm."), text()], "b"),
        "messages.1.content.0.thinking.signature: Field required",
        talk("a", [think(), text()], "b"),
    ),
    Case(
        "M6",
        talk("a", [written("Hm.", ""), text()], "b"),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    Case(
        "M7",
        talk("a", [written("Hm.", "Zm9yZ2Vk"), text()], "b"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        talk("a", [think(), text()], "b"),
    ),
    Case(
        "M7",
        talk("a", [written("Ha.", signing.signature_of(think())), text()], "b", "c", "d"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        talk("a", [think(), text()], "b", "c", "d"),
    ),
    Case(
        "M8",
        talk("a", [written("", signing.signature_of(think())), text()], "b"),
        MODIFIED.format("", 1, 0),
        talk("a", [text()], "b"),
    ),
    Case(
        "M9",
        talk("a", [text(), think(), text()], "b"),
        "messages.1.content.0: If an assistant message contains any thinking blocks, the first "
        "block must be `thinking` or `redacted_thinking`. Found `text`.",
        talk("a", [think(), text()], "b"),
    ),
    Case(
        "M10",
        talk("a", [use()], [result()]),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We "
        "recommend you include thinking blocks from previous turns. To avoid this requirement, "
        "disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        talk("a", [think(), use()], [result()]),
        more=BUDGET | TOOLS,
    ),
    Case(
        "M11",
        talk("a", [think(), use()], [result()]),
        "messages.1.content.0: When thinking is disabled, an `assistant` message in the final "
        "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your "
        "request.",
        talk("a", [think(), use()], [result()], "b", "c"),
        more=TOOLS,
    ),
    Case(
        "M12",
        talk(
            "another beginning",
            [*signing.issued(["Hm."], prefix=signing.prefix({"messages": talk("a")}, 1)), text()],
            "b",
        ),
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
        "different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires '
        "the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.",
        talk(
            "a",
            [*signing.issued(["Hm."], prefix=signing.prefix({"messages": talk("a")}, 1)), text()],
            "b",
        ),
        model=HAIKU_5_5,
    ),
    Case(
        "M13",
        talk("a", [think()], "b"),
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        talk("a", [think(), text()], "b"),
    ),
    Case(
        "M14",
        talk("a", "b"),
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
        talk("a", "b"),
        good_model=HAIKU_4_5,
    ),
    Case(
        "M15",
        talk("a", "b "),
        "messages: final assistant content cannot end with trailing whitespace",
        talk("a", "b"),
        model=HAIKU_4_5,
    ),
    Case(
        "M16",
        talk([text(), text("")]),
        "messages: text content blocks must be non-empty",
        talk([text(), text("a")]),
    ),
    Case("M17", talk([text(), text(" \n")]), "", talk([text(), text(" a")])),
    Case(
        "M18",
        talk([CACHE], "a", "b"),
        "messages.0: all messages must have non-empty content except for the optional final "
        "assistant message",
        talk([text(), CACHE], "a", "b"),
    ),
    Case(
        "M21",
        talk("a", [use("functions.bash:0")], [result("functions.bash:0")]),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        talk("a", [use("functions.bash:0")], [result("functions.bash:0")]),
        more=TOOLS,
        good_model=NOVA,
    ),
    Case(
        "M22",
        talk([text(), CACHE] * 5),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        talk([text(), CACHE] * 4),
    ),
    Case(
        "M23",
        talk(LONG),
        f"prompt is too long: {LENGTH} tokens > {SMALL} maximum",
        talk(LONG[: 3 * SMALL]),
    ),
    Case("M23", talk(LONG), "Input is too long for requested model.", model=HAIKU_4_5, good=HELLO),
]
NATIVE: list[tuple[str, list[Json], str]] = [
    (
        "M19",
        [
            {"role": "user", "content": "a"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}],
            },
            {"role": "user", "content": "b"},
        ],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    (
        "M20",
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]}],
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. Each "
        "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
]


def error_of(call: Callable[[], object]) -> tuple[str, str, int]:
    """Make a call that fails, and tell its code, its message and its status."""
    with pytest.raises(ClientError) as caught:
        call()
    error: Any = caught.value
    said: Json = error.response
    return (
        said["Error"]["Code"],
        said["Error"]["Message"],
        said.get("ResponseMetadata", {}).get("HTTPStatusCode", 0),
    )


@pytest.mark.parametrize("case", CASES, ids=same)
def test_a_request_that_breaks_a_rule_is_refused_in_the_words_of_bedrock(
    bedrock: FakeBedrock, client: Any, case: Case
) -> None:
    code, message, status = error_of(
        lambda: client.converse(modelId=case.model, messages=case.messages, **case.more)
    )

    (refusal,) = bedrock.refusals
    assert (case.rule, case.code, case.status) == (refusal.rule.id, code, status)
    assert refusal.rule.verified is bool(case.message)
    if refusal.rule.verified:
        assert message == (PREFIX if case.rule.startswith("M") else "") + case.message


@pytest.mark.parametrize("case", CASES, ids=same)
def test_the_nearest_request_that_breaks_no_rule_is_answered(
    bedrock: FakeBedrock, client: Any, case: Case
) -> None:
    known = case.model if case.rule[0] != "A" else SONNET_4_6
    more = case.more if case.good_more is None else case.good_more

    said = client.converse(modelId=case.good_model or known, messages=case.good, **more)

    assert said["stopReason"] == "end_turn"
    assert bedrock.refusals == []


@pytest.mark.parametrize("case", CASES, ids=same)
def test_a_stream_is_refused_before_it_begins(
    bedrock: FakeBedrock, client: Any, case: Case
) -> None:
    request = {"modelId": case.model, "messages": case.messages} | case.more

    refused = error_of(lambda: client.converse_stream(**request))

    assert refused == error_of(lambda: client.converse(**request))


@pytest.mark.parametrize(("rule", "messages", "message"), NATIVE)
def test_claudes_own_messages_are_refused_without_the_prefix_of_converse(
    bedrock: FakeBedrock, client: Any, rule: str, messages: list[Json], message: str
) -> None:
    body = json.dumps({"messages": messages, "max_tokens": 100})

    refused = error_of(lambda: client.invoke_model(modelId=SONNET_4_6, body=body))

    assert refused == ("ValidationException", message, 400)
    assert [refusal.rule.id for refusal in bedrock.refusals] == [rule]


def test_every_rule_is_tested() -> None:
    tested = {case.rule for case in CASES} | {rule for rule, *_ in NATIVE} | {"A3"}

    assert tested == {rule.id for rule in RULES}


@pytest.mark.parametrize("model", [SONNET_4_6, NOVA])
def test_tokens_are_counted_only_for_a_claude_model_by_its_bare_name(
    client: Any, model: str
) -> None:
    request = {"converse": {"messages": HELLO}}

    refused = error_of(lambda: client.count_tokens(modelId=model, input=request))
    said = client.count_tokens(modelId="anthropic.claude-sonnet-4-6", input=request)

    assert refused == (
        "ValidationException",
        "The provided model doesn't support counting tokens.",
        400,
    )
    assert said["inputTokens"] == tokens(HELLO)


@pytest.mark.parametrize("wording", ["Input Tokens Exceeded", "maximum context length"])
def test_what_does_not_fit_other_models_is_refused_too(client: Any, wording: str) -> None:
    model = LLAMA if "context" in wording else NOVA

    _, message, _ = error_of(lambda: client.converse(modelId=model, messages=talk(LONG)))

    assert wording in message


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("eu.anthropic.claude-opus-5-5", id="a region"),
        pytest.param("amazon.nova-pro-v1:0", id="on demand"),
        pytest.param(
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5",
            id="a profile's ARN",
        ),
        pytest.param(
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
            id="an application's ARN",
        ),
        pytest.param(
            "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", id="a model's ARN"
        ),
    ],
)
def test_a_model_goes_by_its_id_or_by_an_arn(bedrock: FakeBedrock, client: Any, model: str) -> None:
    client.converse(modelId=model, messages=HELLO)

    assert [request.model for request in bedrock.requests] == [model]


@pytest.mark.parametrize("model", MODELS)
def test_one_plain_user_message_is_answered_by_every_model(client: Any, model: str) -> None:
    said = client.converse(
        modelId=f"us.{model}",
        system=[{"text": "Sum up."}],
        messages=HELLO,
        inferenceConfig={"maxTokens": 4_000},
    )

    *_, last = said["output"]["message"]["content"]
    assert last["text"].endswith("</summary>")


# Thinking.


def issued(client: Any, bedrock: FakeBedrock, answer: Answer, model: str = SONNET_4_6) -> Json:
    """Have the double think, and give the message that it answered HELLO with."""
    bedrock.script.append(answer)
    return client.converse(modelId=model, messages=HELLO)["output"]["message"]


def edited(block: Json, words: str) -> Json:
    return written(words, signing.signature_of(block))


Damage = Callable[[Json, Json, Json], list[Json]]

DAMAGES: dict[str, tuple[Damage, int]] = {
    "blanked": (lambda a, b, c: [edited(a, ""), edited(b, ""), c], 0),
    "one of two blanked": (lambda a, b, c: [a, edited(b, ""), c], 1),
    "edited": (lambda a, b, c: [a, edited(b, "Second"), c], 1),
    "the first removed": (lambda _, b, c: [b, c], 0),
    "the last removed": (lambda a, _, c: [a, c], 0),
    "reordered": (lambda a, b, c: [b, a, c], 0),
    "doubled": (lambda a, b, c: [a, a, b, c], 1),
    "that of another turn among it": (lambda a, b, c: [a, b, think(), c], 2),
}
"""What may happen to two blocks of thinking and a text, and the block that is blamed."""


@pytest.mark.parametrize(("damage", "at"), DAMAGES.values(), ids=DAMAGES)
def test_a_replay_with_damaged_thinking_and_a_request_to_summarize_is_refused(
    bedrock: FakeBedrock, client: Any, damage: Damage, at: int
) -> None:
    answer = issued(client, bedrock, Answer("Done.", reasoning=("First.", "Second.")))
    replay = talk("hello", damage(*answer["content"]), "Summarize the conversation so far.")

    refused = error_of(lambda: client.converse(modelId=SONNET_4_6, messages=replay))

    assert refused == ("ValidationException", MODIFIED.format(PREFIX, 1, at), 400)


@pytest.mark.parametrize("first", [pytest.param(0, id="all"), pytest.param(2, id="none")])
@pytest.mark.parametrize("redacted", [False, True])
def test_a_replay_with_all_the_thinking_or_without_any_is_answered(
    bedrock: FakeBedrock, client: Any, first: int, *, redacted: bool
) -> None:
    answer = issued(
        client, bedrock, Answer("Done.", reasoning=("First.", "Second."), redacted=redacted)
    )
    replay = talk("hello", answer["content"][first:], "Summarize the conversation so far.")

    client.converse(modelId=SONNET_4_6, messages=replay)

    assert bedrock.refusals == []


def test_thinking_that_is_partly_removed_before_the_latest_message_is_answered(
    bedrock: FakeBedrock, client: Any
) -> None:
    answer = issued(client, bedrock, Answer("Done.", reasoning=("First.", "Second.")))

    client.converse(
        modelId=SONNET_4_6, messages=talk("hello", answer["content"][1:], "a", "b", "c")
    )

    assert bedrock.refusals == []


@pytest.mark.parametrize(
    ("changed", "rules"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"system": [{"text": "Sum up."}]}, ["M12"], id="the system prompt"),
        pytest.param({"messages": ["hello there"]}, ["M12"], id="what came before"),
        pytest.param(TOOLS, ["M12"], id="the tools"),
        pytest.param({"messages": [[text("hello"), CACHE]]}, [], id="a cache point"),
        pytest.param(
            {
                "messages": ["hello there"],
                "additionalModelRequestFields": {
                    "anthropic_beta": ["thinking-binding-controls-2026-08-01"],
                    "thinking": {
                        "type": "adaptive",
                        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
                    },
                },
            },
            [],
            id="what came before, with leave to drop",
        ),
    ],
)
def test_bound_thinking_stands_only_behind_what_it_was_written_behind(
    bedrock: FakeBedrock, client: Any, changed: Json, rules: list[str]
) -> None:
    answer = issued(client, bedrock, Answer("Done.", reasoning="Hm."), HAIKU_5_5)
    before = changed.get("messages", ["hello"])
    request = changed | {"messages": talk(*before, answer["content"], "Go on.")}

    if rules:
        error_of(lambda: client.converse(modelId=HAIKU_5_5, **request))
    else:
        client.converse(modelId=HAIKU_5_5, **request)

    assert [refusal.rule.id for refusal in bedrock.refusals] == rules


def test_a_model_that_thinks_unasked_thinks_before_it_answers(client: Any) -> None:
    said = client.converse(modelId=HAIKU_5_5, messages=HELLO)

    first, last = said["output"]["message"]["content"]
    assert [*first, *last] == ["reasoningContent", "text"]


# Answers.


def streamed(client: Any, model: str = SONNET_4_6, messages: list[Json] = HELLO) -> list[Json]:
    with closing(client.converse_stream(modelId=model, messages=messages)["stream"]) as stream:
        return list(stream)


def asked(client: Any, operation: str) -> Json | list[Json]:
    """Ask in one of the two ways, and read the answer to its end."""
    if operation == "converse":
        return client.converse(modelId=SONNET_4_6, messages=HELLO)
    return streamed(client)


def deltas(events: list[Json]) -> list[Json]:
    return [e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e]


def words(events: list[Json]) -> str:
    return "".join(delta.get("text", "") for delta in deltas(events))


def stop(events: list[Json]) -> list[str]:
    return [event["messageStop"]["stopReason"] for event in events if "messageStop" in event]


def test_a_stream_holds_the_text_the_usage_and_the_stop_reason_of_the_script(
    bedrock: FakeBedrock, client: Any
) -> None:
    said = "<summary>\nD\u00e9j\u00e0 vu \U0001f600, twice over and once more.\n</summary>"
    bedrock.script.append(Answer(said, stop="max_tokens", usage={"inputTokens": 7}))

    events = streamed(client)

    assert words(events) == said
    assert stop(events) == ["max_tokens"]
    out = tokens(said)
    assert events[-1]["metadata"]["usage"] == {
        "inputTokens": 7,
        "outputTokens": out,
        "totalTokens": 7 + out,
    }


def test_streamed_thinking_comes_first_and_is_good_for_a_replay(
    bedrock: FakeBedrock, client: Any
) -> None:
    bedrock.script.append(Answer("Done.", reasoning="It is best to go step by step, and slowly."))

    parts = [d["reasoningContent"] for d in deltas(streamed(client)) if "reasoningContent" in d]
    thought = "".join(part.get("text", "") for part in parts)
    client.converse(
        modelId=SONNET_4_6,
        messages=talk("hello", [written(thought, parts[-1]["signature"]), text("Done.")], "b"),
    )

    assert thought == "It is best to go step by step, and slowly."
    assert bedrock.refusals == []


def test_a_tool_call_is_streamed_in_pieces(bedrock: FakeBedrock, client: Any) -> None:
    made = {"command": "grep -rn importer . | sort | uniq -c | sort -rn | head"}
    called: Json = {"name": "bash", "input": made}
    bedrock.script.append(Answer("Look:", stop="tool_use", tool_use=called))

    events = streamed(client)

    (start,) = [e["contentBlockStart"]["start"] for e in events if "contentBlockStart" in e]
    pieces = [delta["toolUse"]["input"] for delta in deltas(events) if "toolUse" in delta]
    assert (start["toolUse"]["name"], json.loads("".join(pieces))) == ("bash", made)
    assert len(pieces) > 1


def test_an_answer_that_nobody_scripted_sums_up_the_transcript(client: Any) -> None:
    record = "The importer fails in server/foldmark/importer.py on the second schema. " * 20
    asked = talk(f"<transcript>{record}</transcript> Summarize everything.")

    said = words(streamed(client, messages=asked))

    assert said.startswith("<summary>\n")
    assert said.endswith("</summary>")
    for told in ("server/foldmark/importer.py", "schema", "## Next step"):
        assert told in said
    assert "Summarize" not in said
    assert len(said) < 0.9 * len(record)


def test_an_answer_may_be_made_from_the_request(
    bedrock: FakeBedrock, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted(body: Json) -> str:
        return f"You sent {len(body['messages'])}."

    monkeypatch.setattr(bedrock, "answer", counted)

    assert words(streamed(client)) == "You sent 1."


def test_a_request_that_is_refused_takes_nothing_from_the_script(
    bedrock: FakeBedrock, client: Any
) -> None:
    bedrock.script.extend([Answer("one"), Answer("two")])

    first = words(streamed(client))
    error_of(lambda: client.converse(modelId=SONNET_4_6, messages=talk("a", "b")))
    client.count_tokens(
        modelId="anthropic.claude-sonnet-4-6", input={"converse": {"messages": HELLO}}
    )
    second = words(streamed(client))

    assert (first, second) == ("one", "two")
    assert [r.operation for r in bedrock.requests] == [
        "converse-stream",
        "converse",
        "count-tokens",
        "converse-stream",
    ]
    assert len(bedrock.generations) == 3
    assert bedrock.requests[1].body == {"messages": talk("a", "b")}


# Failures.


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_an_error_arrives_with_its_code_its_message_and_its_status(
    bedrock: FakeBedrock, client: Any, name: str, operation: str
) -> None:
    failure = ERRORS[name]
    bedrock.script.append(failure)

    code, message, status = error_of(
        lambda: getattr(client, operation)(modelId=SONNET_4_6, messages=HELLO)
    )

    assert (code, status) == (failure.code or str(failure.status), failure.status)
    assert not failure.code or message == failure.message


@pytest.mark.parametrize("name", STOPS)
@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_a_stop_reason_arrives_as_it_was_scripted(
    bedrock: FakeBedrock, client: Any, name: str, operation: str
) -> None:
    bedrock.script.append(STOPS[name])

    if operation == "converse":
        reason = client.converse(modelId=SONNET_4_6, messages=HELLO).get("stopReason")
    else:
        reason = next(iter(stop(streamed(client))), None)

    assert reason == STOPS[name].stop


IN_STREAMS = {name: it for name, it in BREAKS.items() if isinstance(it, StreamFailure)}


@pytest.mark.parametrize("outcome", IN_STREAMS.values(), ids=IN_STREAMS)
def test_an_error_in_a_stream_arrives_after_the_events_before_it(
    bedrock: FakeBedrock, client: Any, outcome: StreamFailure
) -> None:
    bedrock.script.append(outcome)
    stream = client.converse_stream(modelId=SONNET_4_6, messages=HELLO)["stream"]
    came: list[Json] = []

    def read() -> None:
        with closing(stream):
            for event in stream:
                came.append(event)  # noqa: PERF402  # an error must leave what came before it

    code, message, _ = error_of(read)

    assert (code, message) == (outcome.code, outcome.message)
    assert len(came) == outcome.after


@pytest.mark.parametrize(
    ("name", "operation", "error"),
    [
        ("dropped in the middle", "converse_stream", ProtocolError),
        ("dropped in the middle", "converse", BotoCoreError),
        ("dropped before any event", "converse_stream", BotoCoreError),
        ("dropped before any event", "converse", BotoCoreError),
        ("wrong checksum", "converse_stream", ParserError),
        ("not JSON", "converse_stream", ParserError),
    ],
)
def test_a_broken_answer_breaks_in_boto3(
    bedrock: FakeBedrock, client: Any, name: str, operation: str, error: type[Exception]
) -> None:
    bedrock.script.append(BREAKS[name])

    with pytest.raises(error):
        asked(client, operation)


@pytest.mark.parametrize("name", ["ended early", "empty object"])
def test_an_answer_that_ends_early_has_no_stop_reason_and_raises_nothing(
    bedrock: FakeBedrock, client: Any, name: str
) -> None:
    bedrock.script.extend([BREAKS[name]] * 2)

    assert stop(streamed(client)) == []
    assert "stopReason" not in client.converse(modelId=SONNET_4_6, messages=HELLO)


@pytest.mark.parametrize("name", EMPTIES)
def test_an_empty_answer_ends_well_and_says_nothing(
    bedrock: FakeBedrock, client: Any, name: str
) -> None:
    bedrock.script.append(EMPTIES[name])

    events = streamed(client)

    assert stop(events) == ["end_turn"]
    assert not words(events).removeprefix("<summary>").removesuffix("</summary>").strip()


def test_every_failure_has_a_name_of_its_own() -> None:
    parts = (ERRORS, BREAKS, EMPTIES, STOPS)

    assert len(FAILURES) == sum(map(len, parts))
    assert set(outcomes.OVERFLOWS) <= set(ERRORS)


# Time.


@pytest.mark.parametrize("after", [0, 3])
def test_an_answer_can_be_held_until_the_test_lets_it_go(
    bedrock: FakeBedrock, client: Any, after: int
) -> None:
    gate = threading.Event()
    bedrock.script.append(Held(Answer("At last, and after a good long while."), gate, after))
    with ThreadPoolExecutor(1) as pool:
        came: list[Json] = []
        reading = pool.submit(lambda: came.extend(streamed(client)))

        request = bedrock.arrived()
        assert not reading.done()
        gate.set()
        reading.result(timeout=5)

    assert request.body == {"messages": HELLO}
    assert words(came) == "At last, and after a good long while."


def test_an_error_can_be_held_too(bedrock: FakeBedrock, client: Any) -> None:
    gate = threading.Event()
    gate.set()
    bedrock.script.append(Held(Failure("ThrottlingException", "Later.", 429), gate))

    refused = error_of(lambda: streamed(client))

    assert refused == ("ThrottlingException", "Later.", 429)


def test_a_client_that_loses_patience_harms_nobody(bedrock: FakeBedrock, client: Any) -> None:
    gate = threading.Event()
    bedrock.script.append(Held(Answer("too late"), gate))
    hasty = connect(read_timeout=0.05)

    with pytest.raises(BotoCoreError):
        streamed(hasty)
    gate.set()
    hasty.close()

    assert stop(streamed(client)) == ["end_turn"]


def test_slow_answers_arrive_whole(bedrock: FakeBedrock, client: Any) -> None:
    bedrock.script.append(outcomes.slow("No hurry.", delay=0.01, pause=0.001))

    assert words(streamed(client)) == "No hurry."


def test_the_double_closes_with_an_answer_still_held(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with FakeBedrock(default=Held(Answer("never"), gate)) as bedrock:
            for name, value in bedrock.environ.items():
                monkeypatch.setenv(name, value)
            client = connect()
            reading = pool.submit(streamed, client)
            bedrock.arrived()
        assert reading.exception(timeout=5) is None or isinstance(
            reading.exception(), BotoCoreError | ProtocolError
        )
    client.close()
    assert gate.is_set()


def test_a_request_that_never_comes_is_reported(bedrock: FakeBedrock) -> None:
    with pytest.raises(TimeoutError, match="0 of 1 requests came"):
        bedrock.arrived(timeout=0.01)


def test_many_clients_are_answered_at_once(bedrock: FakeBedrock, client: Any) -> None:
    gate = threading.Event()
    bedrock.default = Held(Answer("all of us"), gate)
    with ThreadPoolExecutor(8) as pool:
        readings = [pool.submit(streamed, client) for _ in range(8)]
        bedrock.arrived(8)
        gate.set()

        assert {words(reading.result(timeout=5)) for reading in readings} == {"all of us"}


def test_a_context_window_of_a_model_nobody_knows_is_a_mistake_in_the_test() -> None:
    with pytest.raises(ValueError, match="claude-9"):
        FakeBedrock(contexts={"anthropic.claude-9": 1})
