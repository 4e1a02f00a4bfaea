"""Real servers captured into manifests: what they show, how they word errors, what they answer to probes."""
