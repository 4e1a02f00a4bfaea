"""The look that all HTML pages share: style sheet, SVG shapes, templates. Imports values alone."""
