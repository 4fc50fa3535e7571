"""Every reason for which Bedrock turns a request down, in one table.

The first rule that is broken answers. `verified` is False where the wording is a guess: never
match on it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bedrock import claude, service, thinking
from bedrock.call import Call, Operation
from bedrock.service import Fields

PREFIX = "The model returned the following errors: "

_CONVERSE: frozenset[Operation] = frozenset({"converse", "converse-stream", "count-tokens"})
_INVOKE: frozenset[Operation] = frozenset({"invoke"})
_ALL = _CONVERSE | _INVOKE
_LEARN = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


@dataclass(frozen=True)
class Rule:
    """One reason to refuse, with its words; `claude` rules are those of Claude models alone."""

    id: str
    broken: Callable[[Call], Fields | None]
    message: str
    verified: bool = True
    operations: frozenset[Operation] = _CONVERSE
    claude: bool = False
    code: str = "ValidationException"
    status: int = 400

    @property
    def prefixed(self) -> bool:
        return self.id.startswith("M")

    def holds_for(self, call: Call) -> bool:
        return call.operation in self.operations and (call.model.claude or not self.claude)


@dataclass(frozen=True)
class Refusal:
    """A rule that a request broke, and what its sender is told."""

    rule: Rule
    message: str


def _account(id: str, broken: Callable[[Call], Fields | None], message: str) -> Rule:
    return Rule(id, broken, message, operations=_ALL)


def _claude(
    id: str,
    broken: Callable[[Call], Fields | None],
    message: str,
    *,
    verified: bool = True,
    operations: frozenset[Operation] = _ALL,
) -> Rule:
    return Rule(id, broken, message, verified, operations, claude=True)


RULES = (
    _account("A1", service.unknown_model, "The provided model identifier is invalid."),
    _account(
        "A2",
        service.no_profile,
        "Invocation of model ID {model} with on-demand throughput "
        "isn\N{RIGHT SINGLE QUOTATION MARK}t supported. Retry your request with the ID or ARN of "
        "an inference profile that contains this model.",
    ),
    _account("A3", service.no_counting, "The provided model doesn't support counting tokens."),
    Rule(
        "S1",
        service.no_messages,
        "The messages field is required. Add at least one message and try again.",
        verified=False,
    ),
    Rule(
        "S2",
        service.empty_content,
        "The content field in the Message object at messages.{i} is empty. Add a ContentBlock "
        "object to the content field and try again.",
    ),
    Rule(
        "S3",
        service.starts_without_user,
        "A conversation must start with a user message. Try again with a conversation that starts "
        "with a user message.",
    ),
    Rule(
        "S4",
        service.same_role_twice,
        "A conversation must alternate between user and assistant roles. Make sure the "
        "conversation alternates between user and assistant roles and try again.",
    ),
    Rule(
        "S5",
        service.blank_text,
        "The text field in the ContentBlock object at messages.{i}.content.{j} is blank. Add text "
        "to the text field, and try again.",
    ),
    Rule(
        "S6",
        service.no_tool_config,
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    ),
    Rule(
        "S7",
        service.unanswered_call,
        "Expected toolResult blocks at messages.{i}.content for the following Ids: {ids}",
    ),
    Rule(
        "S8",
        service.result_without_call,
        "The number of toolResult blocks at messages.{i}.content exceeds the number of toolUse "
        "blocks of previous turn.",
    ),
    Rule(
        "S9",
        service.error_without_content,
        "The content field at messages.{i}.content.{j}.toolResult cannot be empty when status "
        "value is error.",
    ),
    Rule(
        "S10",
        service.result_not_an_object,
        "The format of the value at messages.{i}.content.{j}.toolResult.content.{k}.json is "
        "invalid. Provide a json object for the field and try again.",
    ),
    Rule(
        "S11",
        service.malformed_names,
        "{n} validation error(s) detected: Value at '{path}' failed to satisfy constraint: "
        "{constraint}",
        verified=False,
    ),
    Rule(
        "S12",
        service.document_name,
        "The document file name can only contain alphanumeric characters, whitespace characters, "
        "hyphens, parentheses, and square brackets. The name can't contain more than one "
        "consecutive whitespace character. Check that the file name conforms to these "
        "restrictions and retry your request.",
    ),
    Rule(
        "S13",
        service.document_without_text,
        "A text block must be included when using documents.",
    ),
    Rule(
        "S14",
        service.too_many_images,
        "You can't include more than 20 images in a request.",
        verified=False,
    ),
    Rule(
        "S15",
        service.cannot_cache,
        "You invoked an unsupported model or your request did not allow prompt caching.",
        code="AccessDeniedException",
        status=403,
    ),
    Rule(
        "S16",
        service.takes_no_reasoning,
        "User messages cannot contain reasoning content. Please remove the reasoning content and "
        "try again.",
    ),
    Rule(
        "S17",
        service.asks_too_much,
        "The maximum tokens you requested exceeds the model limit of {limit}. Try again with a "
        "maximum tokens value that is lower than {limit}.",
        verified=False,
    ),
    Rule(
        "M1",
        claude.not_json,
        "The request body is not valid JSON: no low surrogate in string: line 1 column {n} "
        "(char {m})",
        operations=_ALL,
    ),
    Rule(
        "M2",
        thinking.type_not_taken,
        '"thinking.type.{type}" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        verified=False,
        operations=_ALL,
    ),
    _claude(
        "M3",
        thinking.budget_too_small,
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        verified=False,
    ),
    _claude(
        "M4",
        thinking.budget_takes_all,
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
        f"documentation at {_LEARN}#max-tokens-and-context-window-size",
        verified=False,
    ),
    _claude("M5", claude.sampling, "{text}", verified=False),
    _claude(
        "M6",
        thinking.unsigned,
        "messages.{i}.content.{j}.thinking.signature: Field required",
    ),
    _claude(
        "M7",
        thinking.wrongly_signed,
        "messages.{i}.content.{j}: Invalid `signature` in `thinking` block",
    ),
    _claude(
        "M8",
        thinking.latest_modified,
        "messages.{i}.content.{j}: `thinking` or `redacted_thinking` blocks in the latest "
        "assistant message cannot be modified. These blocks must remain as they were in the "
        "original response.",
    ),
    _claude(
        "M9",
        thinking.not_first,
        "messages.{i}.content.0: If an assistant message contains any thinking blocks, the first "
        "block must be `thinking` or `redacted_thinking`. Found `{kind}`.",
    ),
    _claude(
        "M10",
        thinking.lost_in_loop,
        "messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`{kind}`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We "
        "recommend you include thinking blocks from previous turns. To avoid this requirement, "
        f"disable `thinking`. Please consult our documentation at {_LEARN}",
    ),
    _claude(
        "M11",
        thinking.final_while_disabled,
        "messages.{i}.content.{j}: When thinking is disabled, an `assistant` message in the final "
        "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your "
        "request.",
    ),
    _claude(
        "M12",
        thinking.moved,
        "messages.{i}.content.{j}: Invalid `signature` in `thinking` block. The block is bound to "
        "a different conversation. Remove the block, or set "
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires '
        f"the `{thinking.BINDING_CONTROLS}` value in the `anthropic-beta` header.",
    ),
    _claude(
        "M13",
        thinking.last_in_message,
        "messages.{i}: The final block in an assistant message cannot be `thinking`.",
    ),
    _claude(
        "M14",
        claude.no_prefill,
        "This model does not support assistant message prefill. The conversation must end with a "
        "user message.",
    ),
    _claude(
        "M15",
        claude.trailing_space,
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    _claude("M16", claude.empty_text, "messages: text content blocks must be non-empty"),
    _claude(
        "M17",
        claude.whitespace_text,
        "messages: text content blocks must contain non-whitespace text",
        verified=False,
    ),
    _claude(
        "M18",
        claude.hollow_message,
        "messages.{i}: all messages must have non-empty content except for the optional final "
        "assistant message",
    ),
    _claude(
        "M19",
        claude.unanswered_call,
        "messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        "{ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
        operations=_INVOKE,
    ),
    _claude(
        "M20",
        claude.result_without_call,
        "messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
        operations=_INVOKE,
    ),
    _claude(
        "M21",
        claude.call_id,
        "messages.{i}.content.{j}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    _claude(
        "M22",
        claude.too_many_cache_points,
        "A maximum of 4 blocks with cache_control may be provided. Found {n}.",
    ),
    Rule("M23", claude.too_long, "{text}", operations=_ALL),
)


def refusal(call: Call, rules: Iterable[Rule] = RULES) -> Refusal | None:
    """Find the first rule that a request breaks."""
    for rule in rules:
        if rule.holds_for(call) and (fields := rule.broken(call)) is not None:
            prefix = PREFIX if rule.prefixed and call.operation != "invoke" else ""
            return Refusal(rule, prefix + rule.message.format_map(fields))
    return None
