"""The search engine over a built web: ranking, correction of queries, snippets, pages opened by URL."""
