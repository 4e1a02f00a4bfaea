"""The search engine of a built web: ranking, query correction, snippets, opening pages by URL."""
