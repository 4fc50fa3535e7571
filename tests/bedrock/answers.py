"""The answer that the double gives when a test scripts none: a summary that may be stored."""

import re
from collections import Counter
from typing import Any

from bedrock.call import content

Json = dict[str, Any]

_TRANSCRIPT = re.compile(r"<transcript>(.*)</transcript>", re.DOTALL)
_RUN = re.compile(r"[\w./-]+")
_PATH = re.compile(r".*(/.*\.\w+|\.(py|ts|js|rs|go|md|json|toml|sql))")
_WORD = re.compile(r"\b[^\W\d]\w{4,40}\b")
_LONGEST_PATH = 200
_FEWEST, _MOST, _SHARE = 6, 40, 60


def summary(body: Json) -> str:
    """Sum up a request: the paths and words it says most often, under the usual headings.

    How many depends on how much there is to sum up, so that the summary is the shorter of the two.
    """
    record = transcript(body)
    room = min(_MOST, max(_FEWEST, len(record) // _SHARE))
    runs = Counter(run.rstrip(".") for run in _RUN.findall(record) if len(run) <= _LONGEST_PATH)
    paths = [run for run, _ in runs.most_common() if _PATH.fullmatch(run)][:room]
    words = [word for word, _ in Counter(_WORD.findall(record)).most_common(room)]
    files = "\n".join(f"- {path}" for path in paths) or "(none)"
    return (
        "<summary>\n"
        "## Goal\nCarry on the work that this session began.\n\n"
        f"## Files\n{files}\n\n"
        f"## Names\nWhat it keeps coming back to: {', '.join(words) or 'nothing yet'}.\n\n"
        "## Next step\nGo on where the session stopped, and check the last change.\n"
        "</summary>"
    )


def transcript(body: Json) -> str:
    """Give what there is to sum up: what stands in <transcript> tags, or all the text."""
    messages: list[Json] = body.get("messages") or []
    texts = [block["text"] for m in messages for block in content(m) if "text" in block]
    whole = "\n".join(texts)
    framed = _TRANSCRIPT.search(whole)
    return framed[1] if framed else whole
