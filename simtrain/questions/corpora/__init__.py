"""Search worlds as plain corpora for other people's tools: pages, questions, judgements of relevance, gold tables."""
