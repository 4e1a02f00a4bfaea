"""Toolsets: the same search engine and the same pages under the names, arguments and forms of reply that agents were trained on."""
