"""The pages of a search world: compiled templates, the layout of sites, each site's beliefs, the statements on each page."""
