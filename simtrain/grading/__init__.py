"""The graders of a finished episode, and the one reward that they make. Imports agents, episodes and below."""
