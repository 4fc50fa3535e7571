"""Transcripts on disk: where they lie, which may be read, and how their bytes are got."""
