"""The LangGraph loop, policies and their skills; the only importer of langgraph and langchain. Imports perturbations and below."""
