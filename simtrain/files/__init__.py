"""Reading and writing files: YAML with line numbers, JSON lines, templates, schemas, redaction. Imports values."""
