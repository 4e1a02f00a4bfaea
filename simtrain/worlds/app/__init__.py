"""App worlds: one app's state, screens and forms; `web` shows it as a site, `browser` plays that site for an agent."""
