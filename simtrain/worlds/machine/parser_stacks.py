"""The stacks of the threads in which bashkit reads scripts."""

import os
from functools import cache

from bashkit import Bash

PARSING_STACK = 1024 * 1024 * 1024
"""Bytes of address space for each: the parser calls itself for each `time` before `time`, which takes some 4 KB each."""


@cache
def deepen_parsers() -> None:
    """Give these threads a stack that a text of a megabyte cannot overflow, which would end the process. For before the first engine.

    Rust's library reads the size from the environment, once, when it starts the first thread (doc.rust-lang.org/std/thread, Stack size).
    """
    name = "RUST_MIN_STACK"
    before = os.environ.get(name)
    os.environ[name] = str(PARSING_STACK)
    Bash().execute_sync("eval :")
    del os.environ[name]
    if before is not None:
        os.environ[name] = before
