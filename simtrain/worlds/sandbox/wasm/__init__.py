"""CPython as a WebAssembly component: how it is built, and how one run of it is played in a forked process."""
