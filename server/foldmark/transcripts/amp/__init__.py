"""The reader of Amp; `reader.READER` is it."""
