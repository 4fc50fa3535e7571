"""Which tools are Foldmark's own.

Their answers repeat the session. Whoever reads a session for facts or sends it to a model leaves
them out, or history echoes into itself and grows with every look at it.
"""

TOOLS = ("compact_session", "get_history", "list_sessions")


def is_own_tool(name: str) -> bool:
    """Tell whether a tool of this name is Foldmark's, under whatever prefix a host gives it.

    Hosts put the server's name before the tool's: `mcp__foldmark__`, `foldmark_`. After
    `mcp__` the name is the user's choice, so any counts there.
    """
    for tool in TOOLS:
        if name.endswith(tool):
            prefix = name.removesuffix(tool).lower()
            return not prefix or "foldmark" in prefix or _names_a_server(prefix)
    return False


def _names_a_server(prefix: str) -> bool:
    return prefix.startswith("mcp__") and prefix.endswith("__") and len(prefix) > len("mcp____")
