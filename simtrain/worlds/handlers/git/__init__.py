"""The tools of a git server over repositories whose objects, refs, index and working tree are rows of the world."""

from simtrain.values.extras import require

require("git", "pygit2")
