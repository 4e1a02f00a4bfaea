"""The graders of a finished episode, and the one reward that they add up to. Imports agents, episodes and below."""
