"""The summarizer that needs no model: it quotes the ledger.

Pure: the same messages and budget give the same bytes, and no earlier summary is read, so that
compacting again cannot wear facts away.
"""

from dataclasses import replace
from posixpath import basename

from foldmark.facts.sections import Item, Section, compose, escaped
from foldmark.facts.words import clip, content_words, one_line
from foldmark.ledger import Ledger
from foldmark.summary import Draft, Request

_SMALL = 160
_LEAST_DULL = 400
_CRAMPED = 1_500
_RUN = 6
_NEXT = "Next step"
_GO_ON = "Go on from the messages that follow."
_SHORTEST = 60  # characters that any summary must have to be accepted
_CHARS_A_NAME = 40
_LEAST_NAMES = 200


class Extractive:
    """Writes a summary from the ledger alone."""

    name = "extractive"
    from_ledger = True

    async def summarize(self, request: Request) -> Draft:
        """Write the summary of the folded messages."""
        text = written(request.ledger, request.budget, request.instructions)
        return Draft(text=text, finish="end_turn")


def written(ledger: Ledger, budget: int, instructions: str = "") -> str:
    """Write what the ledger holds in at most `budget` characters."""
    if budget < _SMALL:
        return _least(ledger, budget)
    focus = one_line(instructions)
    text = _composed(ledger, budget, focus)
    while _dull(text) and budget > _LEAST_DULL:
        budget //= 2
        text = _composed(ledger, budget, focus)
    return text if len(text) >= _SHORTEST else f"{text}\n- {_GO_ON}"


def _composed(ledger: Ledger, budget: int, focus: str) -> str:
    last = _next_step(ledger, budget)
    sections = _sections(ledger, budget)
    if focus:
        wanted = frozenset(content_words(focus))
        sections = [_focused(section, wanted) for section in sections]
        told = Section(
            "Focus asked for", (Item((clip(focus, max(40, budget // 8)),)),), needed=1, fixed=True
        )
        sections.insert(0, told)
    room = budget - len(last) - 2
    body = compose(sections, room)
    return f"{body}\n\n{last}" if body else last


def _sections(ledger: Ledger, budget: int) -> list[Section]:
    shortest = max(40, min(120, budget // 8), min(240, budget // 28))
    facts, requests, prose = ledger.outline(budget), ledger.requests, ledger.prose
    goal = requests.goal(max(40, min(100, budget // 8), min(400, budget // 16)))
    state = prose.state_items(shortest)
    reports, said = ledger.subagents, requests.earlier(shortest)
    cramped = budget < _CRAMPED
    return [
        replace(facts.environment, needed=0) if cramped else facts.environment,
        Section("Goal", goal, 0.14, needed=2, fixed=True),
        facts.constraints,
        facts.tasks,
        facts.errors,
        facts.modified,
        facts.read,
        facts.commands,
        Section("Decisions and findings", prose.finding_items(), 0.10, turn=6),
        Section("Current state", state, 0.08, turn=12, fixed=True),
        Section("Subagent results", reports.items(), 0.06, turn=8, total=reports.count),
        Section(
            "User messages, newest first", said, 0.14,
            turn=4, total=max(requests.count - 2, 0), trace=True,
        ),
        Section("URLs", ledger.links.url_items(), 0.03, turn=11),
        Section(
            "Names in play", _names(ledger, budget), 0.13,
            turn=9, needed=4 if cramped else 0, inline=True,
        ),
        Section("Conversation, newest first", prose.turn_items(), turn=13, at_most=0.5),
        Section("Tool events, newest first", prose.event_items(), turn=14),
    ]  # fmt: skip


def _names(ledger: Ledger, budget: int) -> tuple[Item, ...]:
    """The names most in play; those that stand elsewhere are left out when it is written.

    Where there is room for little, the words that tell this session from others come first.
    """
    best = ledger.names.best()[: max(_LEAST_NAMES, budget // _CHARS_A_NAME)]
    anchors = ledger.anchors() if budget < _CRAMPED else ()
    names = dict.fromkeys([*anchors, *(ledger.files.shown(name) for name in best)])
    return tuple(Item((name,), known_by=basename(name) or name) for name in names)


def _next_step(ledger: Ledger, budget: int) -> str:
    room = max(24, min(120, budget // 10), min(500, budget // 16))
    lines = [f"## {_NEXT}"]
    if ledger.prose.turns and ledger.prose.turns[-1].who == "user" and ledger.requests.last:
        lines.append(f"- Open request: {clip(ledger.requests.last.text, room)}")
    if ledger.tasks.current:
        lines.append(f"- Open task: {clip(ledger.tasks.current, room)}")
    if intent := ledger.prose.intent(room):
        lines.append(f"- The assistant said last: {intent}")
    if len(lines) == 1:
        lines.append(f"- {_GO_ON}")
    return "\n".join(lines)


def _least(ledger: Ledger, budget: int) -> str:
    """Write the request and the next step when there is room for nothing else."""
    last = ledger.requests.last
    goal = escaped(last.text) if last else ""
    step = escaped(ledger.prose.intent(budget) or goal) or _GO_ON
    head, foot = "## Goal\n- ", f"## {_NEXT}\n- "
    room = budget - len(head) - len(foot) - 2
    if goal and room >= 24:
        first = clip(goal, max(room - len(step), room // 2))
        return f"{head}{first}\n\n{foot}{clip(step, room - len(first))}"
    return clip(foot + step, budget) if budget > len(foot) + 8 else step[: max(budget, 0)]


def _dull(text: str) -> bool:
    """Tell text that mostly says the same again, as a session that does so makes it."""
    words = text.split()
    runs = [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN)]
    return len(runs) > 40 and len(set(runs)) < 0.5 * len(runs)


def _focused(section: Section, wanted: frozenset[str]) -> Section:
    """Move items that share words with what a person asked to keep to the front."""
    if section.fixed:
        return section
    items = sorted(
        section.items,
        key=lambda item: -min(len(wanted.intersection(content_words(item.lengths[-1]))), 3),
    )
    return replace(section, items=tuple(items))
