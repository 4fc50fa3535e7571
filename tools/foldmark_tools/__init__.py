"""The MCP tools, one a module."""

from foldmark_tools import compact_session, get_history, list_sessions

TOOLS = (compact_session.TOOL, get_history.TOOL, list_sessions.TOOL)
