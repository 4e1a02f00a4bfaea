"""The room of paradigms: how scenarios become episodes, one file each."""
