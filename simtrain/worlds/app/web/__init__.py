"""An app as a web site: templates, sessions, requests and responses, in the process or over HTTP."""
