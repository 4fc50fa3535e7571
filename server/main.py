"""What the bundle starts, and what `mcp dev server/main.py` inspects."""

from foldmark_server.app import build

mcp = build()

if __name__ == "__main__":
    mcp.run()
