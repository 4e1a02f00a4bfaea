"""The tool and the prompt of a fetch server over a small web whose pages are rows of the world."""
