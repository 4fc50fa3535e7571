"""The reader of Gemini CLI; `reader.READER` is it."""
