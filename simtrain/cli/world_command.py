"""`simtrain world`: commands on worlds; each verb is in its own file."""

VERBS = ("draft", "build", "digest", "stats", "questions", "check", "enrich", "browse", "export", "bugs")

HELP = """Create and check worlds: draft one from a captured server, build search worlds, break repositories.

Every verb prints its report as JSON with --json.

\b
Examples:
  simtrain world draft server.manifest.json --out worlds/server.yaml
  simtrain world build kestrel_reach --pages 100000 --out reach.sqlite
  simtrain world stats kestrel_reach
  simtrain world check kestrel_reach
"""
