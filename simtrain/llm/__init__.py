"""The one OpenAI-compatible client, its knobs and limits; the only importer of openai. Imports contracts and below."""
