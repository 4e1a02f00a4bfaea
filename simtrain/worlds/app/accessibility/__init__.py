"""From an HTML page to the accessibility tree that a browser has, and to the two forms in which agents read it."""
