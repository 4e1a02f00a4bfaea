"""Where code of a simulated world really runs: CPython in WebAssembly, or bubblewrap. Imports contracts, files and values."""
