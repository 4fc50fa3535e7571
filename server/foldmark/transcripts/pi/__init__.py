"""The reader of pi; `reader.READER` is it."""
