"""Scenario files loaded, found and checked; paradigms/ says how they become episodes. Imports agents, episodes and below."""
