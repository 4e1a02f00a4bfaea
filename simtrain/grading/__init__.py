"""Grade finished episodes: graders, and how their values become one reward. Imports agents, episodes and below."""
