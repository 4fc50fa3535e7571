"""The reader of Goose; `reader.READER` is it."""
