"""The engine: reads, keeps, compacts and gives back the sessions of coding assistants."""
