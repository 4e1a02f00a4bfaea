"""The LangGraph loop and the policies that play in it."""
