"""Toolsets: one search engine under the tool names, arguments and replies that agents were trained on."""
