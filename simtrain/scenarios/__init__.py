"""Find, load and check scenario files; paradigms/ turns them into episodes. Imports agents, episodes and below."""
