"""The pages of a search world: templates compiled, sites laid out, what each site believes, what each page states."""
