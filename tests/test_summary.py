# ruff: noqa: RUF001 - summaries come in every script
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import patient
from foldmark.boundary import stands
from foldmark.errors import SummaryRejected
from foldmark.messages import Summary
from foldmark.summary import Draft, accept, prose

SOURCE = 40_000

PLAIN = """\
The user wants the retry logic of the importer to give up after five attempts.
Never touch prod.yml. Use pytest, not unittest.

I moved the loop into importer/retry.py and added a cap with jitter. tests/test_retry.py failed
with AssertionError: 6 != 5 because the first attempt was counted twice; fixed in line 48.
All 31 tests pass now.

Next step: document the cap in README.md."""

PROMPT = (
    "You will be given a transcript. Write a summary of it for another engineer who has to go on "
    "with the work. Keep the goal, the constraints of the user word for word, every decision and "
    "its reason, the files that were changed, the errors that came up and how they were fixed, "
    "and what is still open. Do not answer the transcript. Do not call tools. End with a section "
    "'Next step:'."
)

TEMPLATE = """\
## Goal
[what the user wants]

## Constraints
- ...

## Files
- (none)

## Commands
- [every command that was run, with its exit code]

**Errors**
- TODO

## Decisions
- [each decision and its reason]

## Next step
<the next action>"""

LONG_ENOUGH = "The importer was changed so that it gives up after the fifth attempt. " * 3


def verdict(draft: Draft, source: int = SOURCE, anchors: Sequence[str] = ()) -> str:
    """Name the code under which a draft is refused, empty when it is accepted."""
    try:
        accept(draft, source=source, anchors=anchors)
    except SummaryRejected as error:
        return error.code
    return ""


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        pytest.param(Draft(""), "empty", id="nothing"),
        pytest.param(Draft("", "end_turn"), "empty", id="nothing, finished normally"),
        pytest.param(Draft(" \n\t \r\n", "end_turn"), "empty", id="blank"),
        pytest.param(Draft("\u3000\u00a0", "stop"), "empty", id="blank in other scripts"),
        pytest.param(Draft("<summary>\n</summary>", "end_turn"), "empty", id="only tags"),
        pytest.param(
            Draft("<analysis>The user wants retries.</analysis>", "end_turn"),
            "empty",
            id="only an analysis",
        ),
        pytest.param(
            Draft("<analysis>The user wants retries and then" + LONG_ENOUGH, "end_turn"),
            "truncated",
            id="only an analysis that was never closed",
        ),
        *(
            pytest.param(Draft(text, "end_turn"), "refusal_or_error", id=text[:40].strip())
            for text in (
                "I'm sorry, but I can't help with that request. " + LONG_ENOUGH,
                "Sorry, I am not able to summarize this. " + LONG_ENOUGH,
                "I can't help with summarizing this conversation. " + LONG_ENOUGH,
                "I cannot comply with this request. " + LONG_ENOUGH,
                "I am unable to see any earlier messages. " + LONG_ENOUGH,
                "I apologize, but I do not see a conversation. " + LONG_ENOUGH,
                "As an AI language model I have no access to it. " + LONG_ENOUGH,
                "Unfortunately, I cannot see what came before. " + LONG_ENOUGH,
                "There is no conversation to summarize. " + LONG_ENOUGH,
                "No conversation was provided. " + LONG_ENOUGH,
                "Please provide the conversation you want summarized. " + LONG_ENOUGH,
                "Please paste the transcript here. " + LONG_ENOUGH,
                "It seems there is no transcript in your message. " + LONG_ENOUGH,
                "It looks like you haven't shared a conversation. " + LONG_ENOUGH,
                "API Error: 400 thinking or redacted_thinking blocks in the latest assistant "
                "message cannot be modified. " + LONG_ENOUGH,
                "Error: 529 Overloaded. " + LONG_ENOUGH,
                "ValidationException: the model returned the following errors. " + LONG_ENOUGH,
                "ThrottlingException: Too many tokens, please wait. " + LONG_ENOUGH,
                "(no summary) " + LONG_ENOUGH,
                "Nothing to summarize. " + LONG_ENOUGH,
                "**I'm sorry**, I can't help with that. " + LONG_ENOUGH,
            )
        ),
        pytest.param(Draft("Done.", "end_turn"), "too_short", id="done"),
        pytest.param(Draft("OK", "end_turn"), "too_short", id="an order in the history obeyed"),
        pytest.param(Draft("</summary>OK", ""), "empty", id="an order and an end mark"),
        pytest.param(Draft("The tests pass. " * 10, "end_turn"), "too_short", id="160 characters"),
        pytest.param(Draft(TEMPLATE, "end_turn"), "echo_of_prompt", id="template as it was"),
        pytest.param(
            Draft("# Goal\n\n# Files\n\n# Errors\n\n# Open\n\n" * 6, "end_turn"),
            "echo_of_prompt",
            id="headings alone",
        ),
        pytest.param(
            Draft("Goal:\n- n/a\nFiles changed:\n- none\nErrors:\n- (none)\n" * 6, "end_turn"),
            "echo_of_prompt",
            id="headings with none below",
        ),
        pytest.param(Draft(PROMPT, "end_turn", prompt=PROMPT), "echo_of_prompt", id="the prompt"),
        pytest.param(
            Draft(f"Sure! {PROMPT} I am ready.", "end_turn", prompt=PROMPT),
            "echo_of_prompt",
            id="the prompt with politeness",
        ),
        pytest.param(
            Draft(PROMPT.upper(), "end_turn", prompt=PROMPT), "echo_of_prompt", id="the prompt loud"
        ),
        pytest.param(
            Draft("I will look.", "tool_use", tool_call=True), "stop:tool_use", id="tool call"
        ),
        pytest.param(
            Draft(PLAIN, "end_turn", tool_call=True),
            "tool_call_instead_of_text",
            id="tool call beside words",
        ),
        pytest.param(
            Draft("", "", tool_call=True), "tool_call_instead_of_text", id="tool call alone"
        ),
        *(
            pytest.param(
                Draft(f"{written} {PLAIN}", "end_turn"), "tool_call_instead_of_text", id=written
            )
            for written in (
                '{"type": "tool_use", "name": "bash", "input": {"command": "ls"}}',
                '{"name": "get_history", "arguments": {}}',
                '<function_calls><invoke name="bash">',
                "<tool_call>",
            )
        ),
        pytest.param(
            Draft("[User]: fix the importer\n[Assistant]: I look.\n" * 3 + PLAIN[:80], "end_turn"),
            "echo_of_source",
            id="a piece of the transcript",
        ),
        *(
            pytest.param(Draft(PLAIN, finish), "truncated", id=f"cut, {finish}")
            for finish in (
                "max_tokens", "MAX_TOKENS", "length", "model_context_window_exceeded",
                "max_output_tokens",
            )
        ),
        *(
            pytest.param(Draft(PLAIN, finish), f"stop:{finish.lower()}", id=f"stopped, {finish}")
            for finish in (
                "refusal", "guardrail_intervened", "content_filtered", "content_filter", "SAFETY",
                "tool_calls", "error", "pause_turn",
            )
        ),
        pytest.param(
            Draft(PLAIN.partition("Next step")[0]), "truncated", id="no stop reason and no end"
        ),
        pytest.param(
            Draft(PLAIN.partition("31 tests")[0]), "truncated", id="cut in the middle of a line"
        ),
        pytest.param(
            Draft(PLAIN.replace("document the cap in README.md.", "")),
            "truncated",
            id="cut right after the last heading",
        ),
        pytest.param(
            Draft(PLAIN.partition("Next step")[0] + "**Next step**:\n\n---\n"),
            "truncated",
            id="a last section with nothing but a rule",
        ),
        pytest.param(
            Draft(PLAIN.replace("Next step: ", "The next step is to ")),
            "truncated",
            id="next step is a sentence, not a section",
        ),
        pytest.param(
            Draft("All work is done and all tests pass again. " * 60, "end_turn"),
            "repetitive",
            id="a loop of one sentence",
        ),
        pytest.param(
            Draft(PLAIN + "\nthe end of the file and the end of the file and" * 40, "end_turn"),
            "repetitive",
            id="a loop at the end",
        ),
    ],
)  # fmt: skip
def test_what_would_lose_the_session_is_refused_with_its_reason(draft: Draft, code: str) -> None:
    assert verdict(draft) == code


@pytest.mark.parametrize("finish", ["", "end_turn"])
def test_a_summary_whose_tag_was_never_closed_was_cut(finish: str) -> None:
    assert verdict(Draft(f"<summary>\n{PLAIN[:-10]}", finish)) == "truncated"


@pytest.mark.parametrize(
    "text",
    [
        "I’m sorry, but I can’t help with that request. ",
        "I can’t help with summarizing this conversation. ",
        "I'm unable to do that. ",
        "I'm not able to see any earlier messages. ",
        "I don't see any conversation to summarize. ",
        "I don't have access to the conversation. ",
        "Could you please provide the conversation? ",
        "Sure, please share the conversation. ",
        "# Summary\n\nI'm sorry, but I can't help with that. ",
    ],
)
def test_a_refusal_in_other_words_is_refused_too(text: str) -> None:
    assert verdict(Draft(text + LONG_ENOUGH, "end_turn")) == "refusal_or_error"


@pytest.mark.parametrize(
    ("source", "length", "code"),
    [
        pytest.param(1_000, 59, "too_short", id="at least 60 characters"),
        pytest.param(1_000, 60, "", id="60 do for a tiny source"),
        pytest.param(2_000, 99, "too_short", id="at least a twentieth"),
        pytest.param(2_000, 100, "", id="a twentieth does"),
        pytest.param(10**9, 199, "too_short", id="200 at the most are asked for"),
        pytest.param(10**9, 200, "", id="200 do for any source"),
        pytest.param(10_000, 9_000, "", id="nine tenths of the source"),
        pytest.param(10_000, 9_001, "not_smaller_than_source", id="more than nine tenths"),
        pytest.param(3, 400, "", id="400 characters are small whatever the source"),
        pytest.param(3, 401, "not_smaller_than_source", id="401 are not"),
    ],
)
def test_a_summary_has_a_size_between_uninformative_and_pointless(
    source: int, length: int, code: str
) -> None:
    words = "-".join(f"{number} word" for number in range(length))
    assert verdict(Draft(f"{words[: length - 1]}.", "end_turn"), source) == code


def test_five_thousand_words_for_three_short_messages_are_refused_with_both_sizes() -> None:
    words = " ".join(f"word{number}" for number in range(5_000))

    with pytest.raises(SummaryRejected, match=r"43,889 characters for 60 characters") as refused:
        accept(Draft(words, "end_turn"), source=60)

    assert refused.value.code == "not_smaller_than_source"


ANCHORS = (
    "retry.py", "importer", "test_retry.py", "jitter", "README.md", "prod.yml", "backoff", "cap",
    "AssertionError", "pytest", "attempts", "config.toml",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "anchors", "code"),
    [
        pytest.param(PLAIN, ANCHORS, "", id="a summary of this session"),
        pytest.param(
            "The user wants a new color for the landing page and a larger logo. I changed "
            "style.css and index.html, and the designer liked the result. We still wait for the "
            "photos of the team, which the office will send on Monday morning.\n\n"
            "Next step: put the photos in place.",
            ANCHORS,
            "coverage",
            id="a summary of another session",
        ),
        pytest.param(
            "The user asked for help with the code. I read several files, made the changes that "
            "were needed, ran the tests and fixed the failures. The work is going well, and the "
            "user is satisfied with how it turned out so far.\n\nNext step: continue.",
            ANCHORS,
            "coverage",
            id="words that fit any session",
        ),
        pytest.param(PLAIN.upper(), ANCHORS, "", id="case does not matter"),
        pytest.param(LONG_ENOUGH, ANCHORS[:11], "", id="too few anchors to judge by"),
    ],
)
def test_a_summary_names_what_its_session_is_about(
    text: str, anchors: Sequence[str], code: str
) -> None:
    assert verdict(Draft(text, "end_turn"), anchors=anchors) == code


MARKDOWN = """\
# Session summary

## Goal
Cap the retries of the importer at five.

## Constraints (verbatim)
- "never touch prod.yml"

## Done
- `importer/retry.py`: loop with cap and jitter
- `tests/test_retry.py`: 4 new tests

## Errors
- `AssertionError: 6 != 5`: the first attempt was counted twice; fixed

## Next Steps
1. Document the cap in `README.md`"""

NUMBERED = """\
1. Primary Request and Intent:
   Cap the retries of the importer at five, with jitter.

2. Key Technical Concepts:
   - exponential backoff

3. Files and Code Sections:
   - importer/retry.py: the loop moved here

4. Errors and fixes:
   - AssertionError: 6 != 5, counted twice

5. All user messages:
   - "cap the retries at five, and never touch prod.yml"

6. Pending Tasks:
   - README.md

7. Optional Next Step:
   Document the cap in README.md."""

GERMAN = """\
<summary>
## Ziel
Der Import soll nach fünf Versuchen aufgeben.

## Vorgaben des Nutzers
- „prod.yml niemals anfassen“

## Geändert
- importer/retry.py: Schleife mit Obergrenze und Zufallspause

## Fehler
- AssertionError: 6 != 5, weil der erste Versuch doppelt gezählt wurde; behoben

## Nächster Schritt
Die Obergrenze in README.md beschreiben.
</summary>"""

SPANISH = """\
## Objetivo
El importador debe rendirse después de cinco intentos.

## Restricciones
- «nunca tocar prod.yml»

## Archivos
- importer/retry.py: el bucle con un máximo y una pausa aleatoria
- tests/test_retry.py: cuatro pruebas nuevas

## Siguiente paso
Documentar el máximo en README.md.
</summary>"""

CHINESE = """\
## 目标
导入程序在第五次重试失败之后必须停止，并且每次重试之间要有随机的等待时间，以免同时请求服务器。

## 用户的限制
- “绝对不要修改 prod.yml”，测试只能使用 pytest，不能使用 unittest。

## 修改的文件
- importer/retry.py：循环移到了这里，加上了上限和随机等待。
- tests/test_retry.py：增加了四个新的测试，全部通过。

## 错误
- AssertionError: 6 != 5，因为第一次尝试被计算了两次，现在已经修复。

## 下一步
在 README.md 中说明这个上限，然后提交所有修改。
</summary>"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN.replace("Next step: ", "Next step:\n"), id="next step on a line below"),
        pytest.param(PLAIN.replace("Next step: ", "NEXT STEP\n\n"), id="loud"),
        pytest.param(PLAIN.replace("Next step: ", "**Next step:** "), id="bold"),
        pytest.param(PLAIN.replace("Next step: ", "__Next action__: "), id="underlined"),
        pytest.param(PLAIN.replace("Next step: ", "- Next move: "), id="a list item"),
        pytest.param(PLAIN.replace("Next step: ", "8. Next steps\n- "), id="numbered"),
        pytest.param(PLAIN.replace("Next step: ", "### 8. Next step\n"), id="numbered heading"),
        pytest.param(PLAIN.partition("Next step")[0] + "</summary>", id="an end mark alone"),
        pytest.param(f"<summary>{PLAIN}</summary>", id="between tags"),
        pytest.param(
            f"<analysis>I will list it all.</analysis>\n<summary>{PLAIN}</summary>",
            id="after an analysis",
        ),
        pytest.param(MARKDOWN, id="markdown"),
        pytest.param(
            NUMBERED,
            id="numbered sections that end as Claude Code's own do",
        ),
        pytest.param(NUMBERED.replace("Optional Next", "Next"), id="numbered, next step"),
        pytest.param(GERMAN, id="German"),
        pytest.param(SPANISH, id="Spanish"),
        pytest.param(CHINESE, id="Chinese"),
        pytest.param(
            PLAIN.replace("The user wants", "Sorry state of the importer aside, the user wants"),
            id="begins with a word that refusals begin with",
        ),
        pytest.param(
            "Please note first: " + PLAIN, id="begins with a word that requests begin with"
        ),
        pytest.param(
            PLAIN + "\n\nThe user said: 'I cannot use Docker here', and 'no conversation needed'.",
            id="quotes what refusals say",
        ),
        pytest.param(
            "Errors: none are left.\n" + PLAIN, id="begins with a list of errors"
        ),
    ],
)  # fmt: skip
def test_a_real_summary_is_accepted_though_nobody_knows_how_its_writer_finished(text: str) -> None:
    assert verdict(Draft(text)) == ""


@pytest.mark.parametrize("finish", ["end_turn", "stop", "stop_sequence", "STOP"])
@pytest.mark.parametrize("text", [PLAIN, MARKDOWN, GERMAN, SPANISH, CHINESE])
def test_a_normal_finish_needs_no_end_mark(text: str, finish: str) -> None:
    draft = Draft(prose(text), finish)

    assert verdict(draft) == ""
    assert stands(Summary("s", "m", prose(draft.text), draft.finish))


@pytest.mark.parametrize(
    "opening",
    [
        "API error handling in client.py was rewritten.",
        "Rate limiting of the importer was added.",
        "Rate limit: five attempts.",
        "Throttled imports no longer lose rows.",
        "Overloaded constructors of Importer were split.",
        "Internal server error on /import is fixed: the cap was read before it was set.",
        "Error: 6 != 5 in tests/test_retry.py is fixed.",
        "I apologized to the user for touching prod.yml and put it back.",
        "I can't reproduce the reported hang any more since the cap is in place.",
        "I cannot push: the user keeps the credentials. Everything else is done.",
        "No conversation partner is needed by the importer any more.",
        "Sorry, wrong file: I had first edited importer/again.py and put it back.",
        "Please share buttons were removed from the page of the importer.",
        "ValidationException of the importer now names the row.",
    ],
)
def test_a_summary_of_work_on_errors_is_not_taken_for_an_error(opening: str) -> None:
    assert verdict(Draft(f"{opening}\n\n{PLAIN}", "end_turn"), anchors=ANCHORS) == ""


def test_a_refusal_says_that_nothing_was_lost_and_what_to_do() -> None:
    with pytest.raises(SummaryRejected, match="Nothing was lost") as refused:
        accept(Draft("Done.", "end_turn"), source=SOURCE)

    assert "too_short" in str(refused.value)
    assert "'Next step:'" in str(refused.value)
    assert "summarizer='extractive'" in str(refused.value)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param("a", "a", id="plain"),
        pytest.param("<summary>a</summary>", "a", id="tags"),
        pytest.param("<analysis>b</analysis>\n\n<summary>\na\n</summary>\n", "a", id="analysis"),
        pytest.param("Strips `<thinking>` tags.", "Strips `<thinking>` tags.", id="a word of code"),
        pytest.param("Sure!\n<summary>a</summary>\nAnything else?", "a", id="a greeting"),
        pytest.param("<analysis>`<summary>`</analysis><summary>a</summary>", "a", id="both"),
        pytest.param("<summary>a </summary> b</summary>", "a </summary> b", id="an inner end"),
        pytest.param("<thinking>b</thinking>\na", "a", id="thinking"),
        pytest.param("a\n</summary>", "a", id="an end mark"),
    ],
)
def test_a_model_s_scaffolding_is_not_part_of_the_summary(written: str, kept: str) -> None:
    assert prose(written) == kept


@patient
@given(st.text(), st.sampled_from(["", "end_turn", "length", "x"]), st.booleans())
def test_what_is_accepted_makes_its_marker_stand(text: str, finish: str, called: bool) -> None:
    draft = Draft(f"{text}{LONG_ENOUGH}", finish, called)
    if not verdict(draft):
        answer = Summary("s", "m", prose(draft.text), draft.finish or "end_turn")
        assert stands(answer)
