"""Read and write files: YAML with line numbers, JSON lines, templates, schemas, redaction. Imports values."""
