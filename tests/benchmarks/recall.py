"""How much of a session the extractive summary holds: `python tests/benchmarks/recall.py`.

Without arguments it scores seeded synthetic sessions, with `--transcripts DIR` the Claude Code
sessions in a folder, which never leave the machine. Three figures a budget: STATE is the mean over
the categories present, PROBES the mean over all probes, HIND the share of names that the assistant
later used from memory. Presence in the text is an upper bound of what a model would recall.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

from generator import session
from probes import derive, flat, hindsight, name_held

from foldmark.ledger import Ledger
from foldmark.messages import Message, size
from foldmark.summarizers.extractive import written
from foldmark.transcripts import claude_code, lines
from foldmark.transcripts.record import Json, Reader

BUDGETS = (4_000, 8_000, 16_000)
SEEDS = 20
_CUTS = (0.4, 0.7, 1.0)
_LEAST_NAMES = 5


def main(arguments: Sequence[str]) -> None:
    """Score and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transcripts", type=Path, help="a folder of Claude Code sessions")
    chosen = parser.parse_args(arguments)
    if chosen.transcripts:
        real(chosen.transcripts)
    else:
        for templates in ("dev", "held-out"):
            synthetic(templates)


def synthetic(templates: str) -> None:
    """Score planted sessions: recall by category, stale values and injected rules."""
    made = [session(seed, templates=templates) for seed in range(SEEDS)]
    for budget in BUDGETS:
        held: defaultdict[str, list[bool]] = defaultdict(list)
        stale = injected = 0
        for planted in made:
            ledger = Ledger(project="/repo")
            ledger.add(planted.messages)
            text = flat(written(ledger, budget))
            for category, fact in planted.facts:
                held[category].append(flat(fact) in text)
            rules = text.partition("## User constraints")[2].partition("## ")[0]
            stale += f"- {planted.stale}" in rules
            injected += planted.injected[:40] in rules
        print_row(f"{templates} {budget}", held)
        print(f"  stale as current {stale}, injected as rule {injected} of {len(made)}")


def real(folder: Path) -> None:
    """Score every session in a folder, cut at several places."""
    states: defaultdict[int, list[float]] = defaultdict(list)
    shares: defaultdict[int, list[float]] = defaultdict(list)
    names: defaultdict[int, list[float]] = defaultdict(list)
    by_category: defaultdict[int, defaultdict[str, list[bool]]] = defaultdict(
        lambda: defaultdict(list)
    )
    seconds = chars = 0.0
    for path in sorted(folder.rglob("*.jsonl")):
        messages, project, branch = read(path)
        for cut in _CUTS:
            at = round(len(messages) * cut)
            prefix = messages[:at]
            whole = sum(size(message.blocks) for message in prefix)
            if whole < 4 * BUDGETS[0]:
                continue
            began = time.perf_counter()
            ledger = Ledger(project=project, branch=branch)
            ledger.add(prefix)
            texts = {
                budget: flat(written(ledger, budget)) for budget in BUDGETS if whole >= 4 * budget
            }
            seconds, chars = seconds + time.perf_counter() - began, chars + whole
            probes = derive(prefix, project=project, branch=branch)
            used = hindsight(prefix, messages[at:])
            for budget, text in texts.items():
                held: defaultdict[str, list[bool]] = defaultdict(list)
                for probe in probes:
                    held[probe.category].append(probe.holds(text))
                for category, answers in held.items():
                    by_category[budget][category] += answers
                states[budget].append(mean(mean(answers) for answers in held.values()))
                shares[budget].append(mean(probe.holds(text) for probe in probes))
                if len(used) >= _LEAST_NAMES:
                    names[budget].append(mean(name_held(name, text) for name in used))
    for budget, values in states.items():
        hind = f"{mean(names[budget]):.2f}" if names[budget] else "-"
        print_row(f"{budget}", by_category[budget])
        print(
            f"  STATE {mean(values):.3f}  PROBES {mean(shares[budget]):.3f}  HIND {hind}"
            f"  ({len(values)} cases, {len(names[budget])} with names)"
        )
    if chars:
        print(f"{seconds / chars * 1e6:.2f} s/MB")


def print_row(label: str, held: dict[str, list[bool]]) -> None:
    """Print recall by category."""
    whole = mean(mean(answers) for answers in held.values())
    parts = "  ".join(f"{category} {mean(held[category]):.2f}" for category in sorted(held))
    print(f"{label}: mean {whole:.3f}  {parts}")


def read(path: Path) -> tuple[list[Message], str, str]:
    """Read the main history of a Claude Code session, in the order of the file."""
    reader = claude_code.READER
    groups: list[tuple[str, str, list[Json]]] = []
    seen: set[str] = set()
    project = branch = ""
    for record, raw in lines.split(path.read_bytes(), last=True).records:
        if not claude_code.recognizes(record):
            continue
        row = claude_code.read(record, raw)
        if row.id in seen:
            continue
        seen.add(row.id)
        project = project or row.project
        branch = str(record.get("gitBranch") or branch)
        if row.kind != "message" or row.thread:
            continue
        if row.message and groups and groups[-1][1] == row.message:
            groups[-1][2].append(record)
        else:
            groups.append((row.id, row.message, [record]))
    return list(built(reader, groups)), project, branch


def built(reader: Reader, groups: Sequence[tuple[str, str, list[Json]]]) -> Iterator[Message]:
    """Build the messages from their records."""
    for id, _, records in groups:
        yield reader.message(id, records)


if __name__ == "__main__":
    main(sys.argv[1:])
