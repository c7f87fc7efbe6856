"""JWE in a stream: General JSON from a source to a sink, in constant memory, for single and composite keys.

Profile S1 is an ordinary JWE written in member order: one pass of the content cipher, the tag at the end. Where the content
algorithm cannot work in pieces, profile S2 (``segment``) is used. Decryption never releases plaintext that is not verified:

* S1, two passes (default): the first one verifies and drops what it decrypts; the second releases. Needs a source that can be
  read again. The second pass verifies anew before the sink commits, so that a source that changes meanwhile is found out.
* S1, quarantined: one pass into a sink that keeps all out of reach until ``commit``; what is wrong is aborted.
* S2: each segment once it is verified; a pipe will do.

Whatever is wrong with a token ends in the one error of ``encoding.refusal``, and the sink is aborted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anka_flow.errors import AnkaError, Refused, Unsupported
from anka_flow.keys import Key
from anka_flow.primitives import Aead, Buffer
from anka_flow.streams import CHUNK_BYTES, Sink, Source, Store

from . import segment
from .encoding import b64u_encode, dump_header, refusal
from .framing import Frame, frame, head_text, tail_text
from .jwe import Facts, content_keys, header_facts, start
from .management import Conveyed, Members
from .stream_reader import StreamReader
from .text import TextWriter

S1, S2 = "S1", "S2"
_MAX_S1_BYTES = (1 << 36) - 32  # SP 800-38D, 5.2.1.1: under one nonce


def profile_of(content: Aead, profile: str = "") -> str:
    """Return the profile asked for, or the one that serves the content algorithm. Raises ``Unsupported``, ``ValueError``."""
    if profile not in ("", S1, S2):
        raise ValueError(f"unknown profile '{profile}'; there are S1 and S2")
    if profile == S1 and not content.streams:
        raise Unsupported(f"this provider of {content.algorithm.name} does not work in pieces; use profile S2")
    return profile or (S1 if content.streams else S2)


def enc_of(content: Aead, profile: str) -> str:
    return content.algorithm.jose if profile == S1 else segment.enc_of(content)


class SealingSink:
    """A sink that encrypts what it is given (S1) and writes the token to another."""

    def __init__(self, conveyed: Conveyed, sink: Sink, content: Aead) -> None:
        self._sink = sink
        protected = b64u_encode(dump_header(conveyed.protected))
        nonce = os.urandom(content.nonce_bytes)
        self._sealer = content.sealer(content.decode_public(conveyed.content_key), nonce, protected)
        self._update = self._sealer.update_into
        self._out = memoryview(bytearray(CHUNK_BYTES + 16))
        self._text = TextWriter(sink.write)
        self._left = _MAX_S1_BYTES
        sink.write(head_text(protected, conveyed.recipients, nonce))

    def write(self, data: Buffer) -> None:
        if len(data) > CHUNK_BYTES:
            self._write_pieces(memoryview(data))
            return
        self._left -= len(data)
        if self._left < 0:
            raise AnkaError("message is too long for one token of profile S1 (64 GiB); use S2")
        out = self._out
        self._text.write(out[: self._update(data, out)])

    def _write_pieces(self, view: memoryview) -> None:
        for at in range(0, len(view), CHUNK_BYTES):
            self.write(view[at : at + CHUNK_BYTES])

    def commit(self) -> None:
        self._text.finish()
        self._sink.write(tail_text(self._sealer.finish()))
        self._sink.commit()

    def abort(self) -> None:
        self._sink.abort()


def sealing(key: Key, sink: Sink, content: Aead, profile: str = "") -> SealingSink | segment.SegmentSink:
    """Return a sink of plaintext that writes a new token to ``sink``."""
    profile = profile_of(content, profile)
    conveyed = start(key, enc_of(content, profile), content.key_bytes)
    return SealingSink(conveyed, sink, content) if profile == S1 else segment.SegmentSink(conveyed, sink, content)


def encrypt_stream(key: Key, source: Source, sink: Sink, content: Aead, profile: str = "") -> None:
    """Write a token of what ``source`` gives to ``sink``, and commit it."""
    try:
        target = sealing(key, sink, content, profile)
        for chunk in source.chunks(CHUNK_BYTES):
            target.write(chunk)
        target.commit()
    except BaseException:
        sink.abort()
        raise


def decrypt_stream(
    key: Key, source: Source, sink: Sink, content: Aead, profile: str = "", *, quarantined: bool = False
) -> None:
    """Write the plaintext of the token in ``source`` to ``sink``, and commit it. Raises ``Refused``.

    ``quarantined`` (S1): one pass, where the caller's sink keeps what it gets out of reach until ``commit``.
    """
    profile = profile_of(content, profile)
    try:
        if profile == S2:
            _decrypt_segments(key, source, sink, content)
        else:
            _decrypt_whole(key, source, sink, content, quarantined=quarantined)
        sink.commit()
    except Refused:
        sink.abort()
        raise refusal() from None
    except BaseException:
        sink.abort()
        raise


def reencrypt_stream(
    old: Key,
    new: Key,
    source: Source,
    sink: Sink,
    content: Aead,
    new_content: Aead | None = None,
    *,
    profile: str = "",
    quarantined: bool = False,
) -> None:
    """Write the token in ``source`` anew under another key to ``sink``. The plaintext stays inside. Raises ``Refused``."""
    try:
        target = sealing(new, sink, new_content or content, profile)
    except BaseException:
        sink.abort()
        raise
    decrypt_stream(old, source, target, content, profile, quarantined=quarantined)


def _one_key(key: Key, parts: Frame, members: Members, protected: Members, enc: str, content: Aead) -> bytes:
    """Return the content key. A stream has one recipient, or the two of a composite key."""
    if "tag" in members or (key.primitive.compact and len(parts.recipients) != 1):
        raise refusal()
    keys: Iterator[bytes] = content_keys(key, enc, content.key_bytes, protected, parts.recipients)
    return next(keys)


def _decrypt_segments(key: Key, source: Source, sink: Sink, content: Aead) -> None:
    reader = StreamReader(source)
    parts, members = reader.frame()
    protected = segment.unmark(parts.protected) if key.primitive.compact else dict(parts.protected)
    content_key = _one_key(key, parts, members, protected, segment.enc_of(content), content)
    if "aad" in members:
        raise refusal()
    for plain in segment.open_segments(content, content_key, parts.protected_text, parts.iv, reader.octets()):
        sink.write(plain)
    if reader.tail():
        raise refusal()


def _decrypt_whole(key: Key, source: Source, sink: Sink, content: Aead, *, quarantined: bool) -> None:
    if source.once and not quarantined:
        raise Unsupported(
            "profile S1 is decrypted in two passes, and this source can be read once; use a quarantined sink or S2"
        )
    reader = StreamReader(source)
    parts, members = reader.frame()
    content_key = _one_key(key, parts, members, dict(parts.protected), content.algorithm.jose, content)
    handle = content.decode_public(content_key)
    if len(parts.iv) != content.nonce_bytes:
        raise refusal()
    if not quarantined:
        _run(reader, members, content, handle, parts, None)
        reader = _again(source, reader.head)
    _run(reader, members, content, handle, parts, sink.write)


def _again(source: Source, head: bytes) -> StreamReader:
    reader = StreamReader(source)
    if reader.head != head:
        raise refusal()
    return reader


def _run(
    reader: StreamReader,
    members: Mapping[str, Any],
    content: Aead,
    handle: Any,
    parts: Frame,
    write: Callable[[memoryview], object] | None,
) -> None:
    """Decrypt all octets, hand them to ``write`` if there is one, and verify the tag. Raises ``Refused``."""
    opener = content.opener(handle, parts.iv, parts.aad)
    update = opener.update_into
    out = memoryview(bytearray(CHUNK_BYTES + 16))
    if write is None:
        for piece in reader.octets():
            update(piece, out)
    else:
        for piece in reader.octets():
            write(out[: update(piece, out)])
    opener.finish(_tag(members, reader.tail()))


def _tag(head: Mapping[str, Any], tail: Members) -> bytes:
    """Return the tag, which must be the one member after the ciphertext, and not before it too."""
    if tail.keys() != {"tag"}:
        raise refusal()
    return frame({**head, **tail}).tag


def token_facts(source: Source, content: Aead) -> Facts:
    """Return what a token shows in its head; profile S2, which has an ``enc`` of its own, is marked ``segmented``."""
    parts, _ = StreamReader(source).frame()
    facts = header_facts(parts.protected, parts.recipients)
    if facts["enc"] == segment.enc_of(content):
        return {**facts, "enc": content.algorithm.jose, "stream_enc": facts["enc"], "segmented": True}
    return {**facts, "nonce": len(parts.iv), "segmented": False}


class StreamToken:
    """A streamed token where it lies: a source of its text."""

    once = False

    def __init__(self, source: Store, content: Aead) -> None:
        self.source, self.content = source, content

    def __len__(self) -> int:
        return len(self.source)

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        return self.source.chunks(size)

    def facts(self) -> Facts:
        """Return what the token shows, and its length."""
        return {**token_facts(self.source, self.content), "token": len(self)}


class Released(StreamToken):
    """What reading a token gave, its payload or the token anew: it says how plaintext was released inside."""

    def __init__(self, source: Store, content: Aead, *, segmented: bool, quarantined: bool) -> None:
        super().__init__(source, content)
        self.two_pass, self.quarantined = not (segmented or quarantined), quarantined and not segmented

    def facts(self) -> Facts:
        """Return which way of releasing only verified plaintext was taken."""
        return {"two_pass": self.two_pass, "quarantined": self.quarantined}


class Plaintext(Released):
    """What a streamed token held."""


class Reencrypted(Released):
    """A streamed token made of another one."""

    def facts(self) -> Facts:
        """Return what the token shows, its length, and how the other one was read."""
        return {**StreamToken.facts(self), **super().facts()}
