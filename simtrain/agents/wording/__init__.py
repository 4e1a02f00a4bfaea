"""Sentences of the resilient agent, beside its calls and at the end; they name only things that it has seen."""
