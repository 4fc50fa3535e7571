"""Content parts of every provider's API, made canonical.

Each part is known by its own dress, not by the message around it: gateways and assistants mix
them. Parts with a `type` are Anthropic's and OpenAI's, parts that are named by their only key are
Bedrock Converse's and Gemini's. Native metadata is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from foldmark.messages import Attachment, Block, Reasoning, Text, ToolCall, ToolResult, Unknown
from foldmark.transcripts import blocks
from foldmark.transcripts.blocks import decoded_size, without_native
from foldmark.transcripts.fields import dumps, loads, mapping, text

Part = Mapping[str, Any]

_ONLY_NATIVE = frozenset({"cachePoint", "cache_control", "thoughtSignature", "thought_signature"})


def read(content: Any) -> Iterator[Block]:
    """Read the content of a message, a string or parts of any API."""
    for part in blocks.parts(content):
        if isinstance(part, str):
            yield Text(part)
        elif text(part.get("type")):
            yield _typed(part)
        else:
            yield from _keyed(part)


def result(call_id: str, content: Any, *, is_error: bool = False) -> ToolResult:
    """Read what a tool answered, a string or parts of any API."""
    words: list[str] = []
    attachments: list[Attachment] = []
    for part in blocks.parts(content):
        if isinstance(part, str):
            words.append(part)
            continue
        if "json" in part:
            words.append(dumps(part["json"]))
            continue
        for block in read([part]):
            match block:
                case Text(text=said):
                    words.append(said)
                case Attachment():
                    attachments.append(block)
                case Reasoning():
                    pass
                case _:
                    words.append(dumps(without_native(part)))
    return ToolResult(call_id, "\n".join(words), is_error, tuple(attachments))


def reasoning(part: Part) -> Reasoning:
    """Read an OpenAI `reasoning` item, in which only summaries or open models' text is readable."""
    content = part.get("content")
    words = _texts(content) or _texts(part.get("summary")) or text(part.get("text"))
    return Reasoning(words, redacted=not words.strip())


def arguments(value: Any) -> Any:
    """Decode the arguments of a call, which OpenAI writes as JSON text, well or badly formed."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value) if value.strip() else {}
    except ValueError:
        return value


def _typed(part: Part) -> Block:
    match part["type"]:
        case "input_text" | "output_text":
            return Text(text(part.get("text")))
        case "refusal":
            return Text(text(part.get("refusal")))
        case "reasoning" | "reasoning_text" | "summary_text":
            return reasoning(part)
        case "redacted-reasoning" | "redacted_reasoning":
            return Reasoning("", redacted=True)
        case "image_url" | "input_image":
            link = part.get("image_url")
            return linked(text(link) or text(mapping(link).get("url")), "image/*")
        case "input_file" | "file":
            return _openai_file({**part, **mapping(part.get("file"))})
        case "input_audio":
            audio = mapping(part.get("input_audio"))
            kind = f"audio/{text(audio.get('format')) or '*'}"
            return Attachment(kind, "", decoded_size(text(audio.get("data"))))
        case _:
            return next(blocks.anthropic([part]))


def _openai_file(part: Part) -> Attachment:
    name = text(part.get("filename")) or text(part.get("file_id"))
    data = text(part.get("file_data")) or text(part.get("file_url"))
    if data and not data.startswith(("data:", "http")):  # bare base64 is allowed as well
        return Attachment("application/*", name, decoded_size(data))
    return linked(data, "application/*", name)


def linked(url: str, usual: str, name: str = "") -> Attachment:
    """Make an attachment of a URL: a data URL tells type and size, any other is its own name."""
    if not url.startswith("data:"):
        return Attachment(usual, name or url)
    head, _, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.partition(";")
    size = decoded_size(data) if encoding.endswith("base64") else len(data)
    return Attachment(media_type or usual, name, size)


def _keyed(part: Part) -> Iterator[Block]:
    """Read a part that is named by its key; what else it holds is native metadata."""
    match part:
        case {"thought": True}:
            yield Reasoning(text(part.get("text")))
        case {"text": str(words)}:
            yield Text(words)
        case {"reasoningContent": found}:
            words = text(mapping(mapping(found).get("reasoningText")).get("text"))
            yield Reasoning(words, redacted="reasoningText" not in mapping(found))
        case {"toolUse": found}:
            call = mapping(found)
            yield ToolCall(text(call.get("toolUseId")), text(call.get("name")), call.get("input"))
        case {"toolResult": found}:
            answer = mapping(found)
            failed = answer.get("status") == "error"
            yield result(text(answer.get("toolUseId")), answer.get("content"), is_error=failed)
        case {"functionCall": found} | {"function_call": found}:
            call = mapping(found)
            yield ToolCall(_name_or_id(call), text(call.get("name")), call.get("args"))
        case {"functionResponse": found} | {"function_response": found}:
            yield _function_response(mapping(found))
        case {"executableCode": found} | {"executable_code": found}:
            yield ToolCall("code_execution", "code_execution", found)
        case {"codeExecutionResult": found} | {"code_execution_result": found}:
            answer = mapping(found)
            failed = text(answer.get("outcome")) not in ("", "OUTCOME_OK")
            yield ToolResult("code_execution", text(answer.get("output")), failed)
        case {"inlineData": found} | {"inline_data": found}:
            yield _inline_data(mapping(found))
        case {"fileData": found} | {"file_data": found}:
            file = mapping(found)
            media_type = text(file.get("mimeType")) or text(file.get("mime_type"))
            yield Attachment(media_type, text(file.get("fileUri")) or text(file.get("file_uri")))
        case {"guardContent": {"text": {"text": str(words)}}}:
            yield Text(words)
        case {"citationsContent": {"content": content}}:
            yield from read(content)
        case {"image": found}:
            yield _converse_file("image", mapping(found))
        case {"document": found}:
            yield _converse_file("application", mapping(found))
        case {"video": found}:
            yield _converse_file("video", mapping(found))
        case {"audio": found}:
            yield _converse_file("audio", mapping(found))
        case _:
            named = next((key for key in part if key not in _ONLY_NATIVE), "")
            if named:
                yield Unknown(named)


def _function_response(answer: Part) -> ToolResult:
    """Read Gemini's tool result, whose words stand under a key that the tool's author chose."""
    found = answer.get("response")
    response = mapping(found)
    failed = bool(response.get("error")) and not response.get("output")
    match response:
        case {"output": str(words)} | {"result": str(words)} | {"error": str(words)} if (
            len(response) == 1
        ):
            content: Any = words
        case {"content": list()} if len(response) == 1:
            content = response["content"]
        case _:
            content = None if found is None else dumps(found)
    read_back = result(_name_or_id(answer), content, is_error=failed)
    media = [b for b in read(answer.get("parts")) if isinstance(b, Attachment)]
    return ToolResult(read_back.call_id, read_back.text, failed, (*read_back.attachments, *media))


def _name_or_id(call: Part) -> str:
    """Pair by name what has no id: the API itself does."""
    return text(call.get("id")) or text(call.get("name"))


def _inline_data(data: Part) -> Attachment:
    media_type = text(data.get("mimeType")) or text(data.get("mime_type"))
    name = text(data.get("displayName")) or text(data.get("display_name"))
    return Attachment(media_type, name, _size(data.get("data")))


def _converse_file(family: str, file: Part) -> Attachment:
    form = text(file.get("format")) or "*"
    media_type = "text/plain" if form == "txt" else f"{family}/{form}"
    return Attachment(
        media_type, text(file.get("name")), _size(mapping(file.get("source")).get("bytes"))
    )


def _size(data: Any) -> int:
    return len(data) if isinstance(data, bytes | bytearray) else decoded_size(text(data))


def _texts(content: Any) -> str:
    said = (
        part if isinstance(part, str) else text(part.get("text")) for part in blocks.parts(content)
    )
    return "\n".join(filter(str.strip, said))
