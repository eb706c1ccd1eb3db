"""The bits of 2/pi and pi/2: floor(2/pi * 2^1216) and floor(pi/2 * 2^127)."""

from __future__ import annotations

TWO_OVER_PI_BITS = 1216
_BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424d"
    "d2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639"
    "835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f46"
    "3f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)
PI_HALF_BITS = 0xC90FDAA22168C234C4C6628B80DC1CD1
# Least significant word first; the last words are the zeros that a window near the binary point reads.
TWO_OVER_PI_WORDS = tuple((_BITS >> place) & (2**64 - 1) for place in range(0, 22 * 64, 64))
