"""Memory set aside for streamed payloads and tokens, so that no measured step asks for any."""

from __future__ import annotations

from anka_flow import operator
from anka_flow.streams import Arena

_HEAD_BYTES = 160 * 1024  # the header of the largest KEM ciphertext, and what stands around it


@operator
def arena(payload_bytes: int) -> Arena:
    """Return memory that holds the payload, or a token of it in any profile: base64url, and a tag for every 64 KiB."""
    sealed_bytes = payload_bytes + 64 * (payload_bytes // (64 * 1024) + 1)
    return Arena(_HEAD_BYTES + (sealed_bytes + 2) // 3 * 4)
