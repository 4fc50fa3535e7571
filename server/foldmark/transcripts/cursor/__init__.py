"""The reader of Cursor; `reader.READER` is it."""
