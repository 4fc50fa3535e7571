import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from foldmark_server.demo import EXAMPLE


def demo(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run the demo with an empty home and a folder of its own for temporary files."""
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    folders = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    return subprocess.run(
        [sys.executable, "-m", "foldmark_server", "demo"],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**kept, **folders, "COLUMNS": "100"},
        timeout=120,
        check=False,
    )


def records() -> list[dict[str, Any]]:
    [path] = EXAMPLE.glob("*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_demo_shows_the_main_job_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = demo(tmp_path)

    assert (run.returncode, run.stderr) == (0, "")
    told = run.stdout
    assert "68 messages, about 8,894 tokens" in told
    assert "The summary was not accepted (refusal_or_error)" in told
    assert "the visible history is the same, character for character" in told
    assert "57 messages folded behind a summary, 11 kept word for word" in told
    assert "- Never touch config/prod.yml, the platform team owns it." in told
    assert "[User]: Not yet, Priya wants to look first. What is left to do?" in told
    assert "68 of 68 messages read back" in told
    assert "57 folded, 11 live" in told
    assert list((tmp_path / "home").iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_example_holds_what_makes_sessions_hard() -> None:
    messages = [record["message"] for record in records() if "message" in record]
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    kinds = {block["type"] for block in blocks}

    assert kinds == {"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image"}
    assert all(block["signature"] for block in blocks if block["type"] == "thinking")
    assert any(block.get("is_error") for block in blocks)
    assert {"TodoWrite", "Task"} <= {block.get("name") for block in blocks}
    assert list(EXAMPLE.glob("*/subagents/agent-*.jsonl"))
