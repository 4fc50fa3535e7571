"""The reader of GitHub Copilot CLI; `reader.READER` is it."""
