"""The room of exporters: one file per training format."""
