"""How our tools differ from the SDK's: they refuse unknown arguments and explain failures."""

import difflib
from collections.abc import Callable
from typing import Any, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from foldmark.errors import FoldmarkError
from foldmark.transcripts.lines import well_formed

_LONGEST_ERROR = 2_000  # characters; an error that quotes an argument must not be endless


class StrictTool(Tool):
    """A tool that takes exactly the arguments it publishes."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Run the tool; every failure that the caller can mend reaches it in words."""
        self._check_names(arguments)
        try:
            return await super().run(well_formed(arguments), context, convert_result)
        except ToolError as error:
            match error.__cause__:
                case ValidationError() as cause:
                    raise ToolError(self._invalid(cause)) from cause
                case FoldmarkError() as cause:
                    raise ToolError(str(cause)[:_LONGEST_ERROR]) from cause
                case None:
                    raise
                case ToolError():
                    raise
                case cause:
                    raise UnexpectedToolError(
                        f"{self.name} broke down ({type(cause).__name__}), and that is a fault of "
                        "Foldmark's. Nothing was lost: the history is as it was. Call again; if it "
                        "stays so, report it with what the server wrote to stderr."
                    ) from cause

    def _check_names(self, arguments: dict[str, Any]) -> None:
        known = list(self.parameters["properties"])
        for name in arguments:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise ToolError(
                    f"{self.name} takes no argument {name[:80]!r}; {hint}"
                    f"It takes: {', '.join(known)}. Nothing was done."
                )

    def _invalid(self, error: ValidationError) -> str:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}, not {str(fault['input'])[:80]!r}"
            for fault in error.errors(include_url=False, include_context=False)
        )
        return f"{self.name} was called with wrong arguments. {faults}. Nothing was done."


def tool(function: Callable[..., Any], *, title: str, annotations: ToolAnnotations) -> StrictTool:
    """Make a tool of a function: its docstring is what a model reads, its types are the schema."""
    made = StrictTool.from_function(
        function,
        title=title,
        description=" ".join((function.__doc__ or "").split()),
        annotations=annotations,
    )
    strict = cast("StrictTool", made)
    strict.parameters = {**_lean(strict.parameters), "additionalProperties": False}
    strict.fn_metadata.output_schema = _lean(strict.fn_metadata.output_schema)
    return strict


def answer(result: BaseModel) -> CallToolResult:
    """Give a result as text and as structure: the same facts, since hosts show one or the other."""
    return CallToolResult(
        content=[TextContent(type="text", text=result.model_dump_json())],
        structured_content=result.model_dump(mode="json"),
    )


def _lean(schema: Any) -> Any:
    """Leave out the titles that pydantic makes of names: every character is paid as context."""
    if isinstance(schema, dict):
        items = cast("dict[str, Any]", schema).items()
        return {
            key: _lean(value)
            for key, value in items
            if key != "title" or not isinstance(value, str)
        }
    if isinstance(schema, list):
        return [_lean(item) for item in cast("list[Any]", schema)]
    return schema
