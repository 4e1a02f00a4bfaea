"""What is read and written: YAML with line numbers, JSON lines, templates, schemas, redaction. Imports values."""
