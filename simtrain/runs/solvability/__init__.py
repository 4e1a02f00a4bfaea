"""Whether a task can still be done under perturbations: proofs by search, which replay to full reward."""
