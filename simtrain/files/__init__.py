"""Read and write files: YAML with line numbers, JSON lines, templates, schemas, redaction, and the look of HTML pages. Imports values."""
