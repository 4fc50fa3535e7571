"""The reader of opencode; `reader.READER` is it."""
