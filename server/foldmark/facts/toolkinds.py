"""Which tool is of which kind, by its name and, where names fail, by the shape of its input."""

import re
from collections.abc import Mapping
from typing import Any

_NAMES = """
run: bash shell exec execcommand runshellcommand executecommand localshell localshellcall
run: runcommand runcommands runterminalcmd runinterminal terminal containerexec executebash
run: powershell userbash runterminalcommand
read: read readfile readfiles readmanyfiles view viewfile viewimage openfile notebookread cat
edit: edit multiedit replace strreplace editfile replaceinfile applydiff searchreplace insert
edit: notebookedit inserttext multireplacestringinfile replacestringinfile
write: write writefile writetofile createfile create createnewfile newfile
editor: editor texteditor strreplaceeditor strreplacebasededittool
patch: applypatch patch
plan: todowrite updateplan writetodos updatetodolist managetodolist todo setplan plan
propose: exitplanmode planmoderespond submitplan
newtask: taskcreate
task: taskupdate
delegate: task agent spawnagent subagent delegate delegatetask dispatchagent usesubagents
delegate: runsubagent
fetch: webfetch fetch fetchurl urlfetch browse openurl readurl httpget
look: grep glob search searchfiles searchfilecontent grepsearch filesearch ripgrep find list ls
look: listdirectory listfiles listdir websearch googlewebsearch codebasesearch rg toolsearch
"""
_KINDS = {
    name: kind
    for kind, _, names in (line.partition(":") for line in _NAMES.splitlines() if line)
    for name in names.split()
}

_LIKELY = (
    ("run", re.compile(r"shell|bash|terminal|command|exec")),
    ("read", re.compile(r"^(?:read|view|open)")),
    ("write", re.compile(r"^(?:write|create)")),
    ("edit", re.compile(r"edit|replace|insert")),
    ("delete", re.compile(r"^(?:delete|remove)")),
)


def kind(name: str, given: Mapping[str, Any]) -> str:
    """Name the kind of a tool, empty when it is none that we know."""
    short = _short(re.split(r"__|[.:/]", name[:200])[-1])
    if known := _KINDS.get(_short(name)) or _KINDS.get(short):
        return known
    likely = next((kind for kind, pattern in _LIKELY if pattern.search(short)), "")
    if likely == "run" and not any(key in given for key in ("command", "cmd", "commands")):
        return ""
    return likely


def _short(name: str) -> str:
    """Reduce a name to its letters: `read_file` and `ReadFile` are the same."""
    return re.sub(r"[^a-z0-9]", "", name[:200].lower())
