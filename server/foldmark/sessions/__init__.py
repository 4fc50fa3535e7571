"""What a tool is handed: sessions found, brought up to date, compacted, read back and listed."""
