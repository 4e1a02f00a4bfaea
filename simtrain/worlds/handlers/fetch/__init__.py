"""The tool and the prompt of a fetch server over a small web whose pages are rows of the world."""

from simtrain.values.extras import require

require("fetch", "bs4", "html5lib", "markdownify", "protego")
