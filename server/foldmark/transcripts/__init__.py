"""One pure reader per assistant: records in, canonical messages out."""
