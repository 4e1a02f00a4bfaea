"""Questions over search worlds with gold and plans, and WideSearch scoring. Imports worlds and below."""
