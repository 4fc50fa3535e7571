"""The reader of Cline, and Roo and Kilo, which began as copies of it; `reader.READER` is it."""
