"""Facts taken from messages without a model: one collector a module, each bounded in memory."""
