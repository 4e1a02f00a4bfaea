"""The room of world models: whoever answers tool calls, one file each."""
