"""What agents do to pages: the tools of Playwright MCP, and the actions of BrowserGym, on the same browser."""
