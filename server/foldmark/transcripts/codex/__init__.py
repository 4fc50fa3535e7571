"""The reader of Codex CLI; `reader.READER` is it."""
