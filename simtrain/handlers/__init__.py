"""The room of handlers: tools of service worlds as Python functions, where SQL is not enough."""
