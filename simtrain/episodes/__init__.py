"""One open episode: the world-model proxy, triggers, firings, the tools on offer. Imports perturbations and below."""
