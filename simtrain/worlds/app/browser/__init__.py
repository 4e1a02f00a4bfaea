"""A browser in the process: tabs, history, forms and components over the pages of an app."""
