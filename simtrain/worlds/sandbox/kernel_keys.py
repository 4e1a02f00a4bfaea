"""A filter of system calls that closes the kernel's keys to a program: they belong to a user, in no namespace, and would outlive a run.

The form is that of classic BPF over `struct seccomp_data` (linux/seccomp.h, linux/audit.h), as `bwrap --seccomp` takes it.
"""

import struct

# `add_key`, `request_key`, `keyctl`, by architecture: x86-64 with its form x32, 32-bit x86, 64-bit ARM.
_CALLS = {
    0xC000003E: (248, 249, 250, 0x40000000 | 248, 0x40000000 | 249, 0x40000000 | 250),
    0x40000003: (286, 287, 288),
    0xC00000B7: (217, 218, 219),
}
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _NOT_PERMITTED = 0x7FFF0000, 0x00050001


def filter_of_keys() -> bytes:
    """Return the filter: these calls fail with EPERM, all others are made."""
    program: list[tuple[int, int, int, int]] = []
    for architecture, numbers in _CALLS.items():
        # On another architecture past the numbers and both ends.
        program += [
            (_LOAD, 0, 0, _ARCHITECTURE),
            (_JUMP_IF_EQUAL, 0, len(numbers) + 3, architecture),
            (_LOAD, 0, 0, _NUMBER),
        ]
        program += [(_JUMP_IF_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
        program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOT_PERMITTED)]
    return b"".join(struct.pack("=HBBI", *step) for step in (*program, (_RETURN, 0, 0, _ALLOW)))
