import json
import tomllib
from pathlib import Path

from foldmark_server import __version__
from foldmark_tools import TOOLS

ROOT = Path(__file__).parent.parent
MANIFEST = json.loads((ROOT / "manifest.json").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere() -> None:
    assert MANIFEST["version"] == PROJECT["version"] == __version__


def test_the_bundle_lists_the_tools_that_there_are() -> None:
    assert [tool["name"] for tool in MANIFEST["tools"]] == [tool.name for tool in TOOLS]


def test_the_bundle_starts_a_file_that_is_there() -> None:
    server = MANIFEST["server"]

    assert (ROOT / server["entry_point"]).is_file()
    assert server["mcp_config"]["args"][-1] == server["entry_point"]


def test_every_setting_of_the_bundle_reaches_the_server() -> None:
    asked = {f"${{user_config.{name}}}" for name in MANIFEST["user_config"]}

    assert set(MANIFEST["server"]["mcp_config"]["env"].values()) == asked
    assert MANIFEST["compatibility"]["runtimes"]["python"] == PROJECT["requires-python"]
