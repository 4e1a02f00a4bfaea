"""Questions over search worlds, their gold and their plans, and WideSearch scoring. Imports worlds and below."""
