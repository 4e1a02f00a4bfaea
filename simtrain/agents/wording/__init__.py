"""Sentences of the resilient agent, beside its calls and at the end, which name nothing that it has not seen."""
