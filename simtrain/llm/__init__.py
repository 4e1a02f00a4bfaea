"""The one OpenAI-compatible client, its knobs and limits, and chat templates; the only importer of openai. Imports contracts and below."""
