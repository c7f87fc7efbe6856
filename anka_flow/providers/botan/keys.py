"""Keys of Botan: making, loading and writing them, in the encodings that every provider shares."""

from __future__ import annotations

from dataclasses import dataclass

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, KeyPair

from .library import Library, Operation, Owned


class Handle:
    """A key in the library, and the operations made with it that are idle. ``raw`` is the public key's encoding."""

    __slots__ = ("idle", "owned", "raw")

    def __init__(self, owned: Owned, raw: bytes = b"") -> None:
        self.owned, self.raw = owned, raw
        self.idle: list[Operation] = []

    def __repr__(self) -> str:
        return "Handle(...)"


@dataclass(frozen=True)
class Scheme:
    """What a family is called in the library: ``create`` its algorithm, ``params`` the set, ``load`` the loaders' ending.

    ``padding`` is what its operation is asked for. ``streams``: the operation hashes as it goes and keeps no message.
    """

    create: str
    params: str
    load: str = ""
    padding: str = ""
    streams: bool = False


class Keys:
    """Keys whose loaders take octets and the parameter set: most post-quantum schemes. Private keys are seeds where Botan
    keeps one (ML-KEM, ML-DSA)."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, library: Library) -> None:
        self.algorithm, self.scheme, self.library = algorithm, scheme, library
        self.params = scheme.params.encode()

    def generate(self) -> KeyPair:
        create, rng = self.scheme.create.encode(), self.library.rng.pointer
        return self._pair(self.library.make("privkey_create", "privkey_destroy", create, self.params, rng))

    def _pair(self, private: Owned) -> KeyPair:
        public = self.library.make("privkey_export_pubkey", "pubkey_destroy", private.pointer)
        return KeyPair(Handle(public, self._show(public)), Handle(private))

    def encode_public(self, public: Handle) -> bytes:
        return public.raw

    def decode_public(self, data: bytes) -> Handle:
        data = bytes(data)
        if len(data) != self.algorithm.sizes.get("public", len(data)) or not data:
            raise Refused("the public key has a wrong length")
        return Handle(self._load(data), data)

    def encode_private(self, pair: KeyPair) -> bytes:
        return self.library.view("privkey_view_raw", pair.private.owned)

    def decode_private(self, data: bytes) -> KeyPair:
        data = bytes(data)
        if not data:
            raise Refused("the private key has a wrong length")
        return self._pair(self._load_private(data))

    def _show(self, public: Owned) -> bytes:
        return self.library.view("pubkey_view_raw", public)

    def _load(self, data: bytes) -> Owned:
        return self.library.make(f"pubkey_load_{self.scheme.load}", "pubkey_destroy", data, len(data), self.params)

    def _load_private(self, data: bytes) -> Owned:
        return self.library.make(f"privkey_load_{self.scheme.load}", "privkey_destroy", data, len(data), self.params)


class CurveKeys(Keys):
    """ECDH and ECDSA: ``04||x||y`` and the scalar (SEC 1)."""

    def _show(self, public: Owned) -> bytes:
        return self.library.view("pubkey_view_ec_public_point", public)

    def _load(self, data: bytes) -> Owned:
        if data[0] != 4:  # Botan also reads hybrid points, of the same length
            raise Refused("the public key is not valid")
        return self.library.make(f"pubkey_load_{self.scheme.load}_sec1", "pubkey_destroy", data, len(data), self.params)

    def _load_private(self, data: bytes) -> Owned:
        if len(data) != (self.algorithm.sizes["public"] - 1) // 2:
            raise Refused("the private key has a wrong length")
        number = self.library.integer(data)
        return self.library.make(f"privkey_load_{self.scheme.load}", "privkey_destroy", number.pointer, self.params)


class OctetKeys(Keys):
    """X25519, X448, Ed25519, Ed448: raw octets; the loaders read a fixed number of them."""

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return the seed: Botan keeps Ed25519's with the public key behind it."""
        return super().encode_private(pair)[: self.algorithm.sizes["public"]]

    def _load(self, data: bytes) -> Owned:
        return self.library.make(f"pubkey_load_{self.scheme.load}", "pubkey_destroy", data)

    def _load_private(self, data: bytes) -> Owned:
        if len(data) != self.algorithm.sizes["public"]:
            raise Refused("the private key has a wrong length")
        return self.library.make(f"privkey_load_{self.scheme.load}", "privkey_destroy", data)


class DerKeys(Keys):
    """Keys that Botan loads from SubjectPublicKeyInfo and PKCS #8 only."""

    def encode_private(self, pair: KeyPair) -> bytes:
        return self.library.view("privkey_view_der", pair.private.owned)

    def _load(self, data: bytes) -> Owned:
        return self._own(self.library.make("pubkey_load", "pubkey_destroy", data, len(data)), "pubkey_algo_name")

    def _load_private(self, data: bytes) -> Owned:
        rng = self.library.rng.pointer
        made = self.library.make("privkey_load", "privkey_destroy", rng, data, len(data), None)
        return self._own(made, "privkey_algo_name")

    def _own(self, key: Owned, namer: str) -> Owned:
        """Return the key if it is of this algorithm."""
        if self.library.name(namer, key) not in (self.scheme.create, f"{self.scheme.create}-2012-256"):
            raise Refused("the key is of another algorithm")
        return key


class RsaKeys(DerKeys):
    """RSA: SubjectPublicKeyInfo and PKCS #8, of exactly the modulus that the algorithm names."""

    def _show(self, public: Owned) -> bytes:
        modulus = self.library.make("mp_init", "mp_destroy")
        self.library.check(self.library.pubkey_rsa_get_n(modulus.pointer, public.pointer))
        if self.library.size("mp_num_bits", modulus) != int(self.scheme.params):
            raise Refused("the key has another modulus length than the algorithm")
        return self.library.view("pubkey_view_der", public)

    def _load(self, data: bytes) -> Owned:
        public = super()._load(data)
        self._show(public)
        return public


class HeadedKeys(DerKeys):
    """Keys that are raw octets, which Botan loads from a SubjectPublicKeyInfo only.

    ``wrapper`` comes before the octets in one that Botan reads, ``inner`` at the end of it and in Botan's raw form. Keys begin
    with ``kind``, the number of their parameter set, and are ``public_bytes`` long.
    """

    inner = wrapper = kind = b""
    public_bytes = 0

    def _show(self, public: Owned) -> bytes:
        shown = super()._show(public).removeprefix(self.inner)
        if not shown.startswith(self.kind):
            raise Refused("the key is of another parameter set")
        return shown

    def _load(self, data: bytes) -> Owned:
        if len(data) != self.public_bytes or not data.startswith(self.kind):
            raise Refused("the public key is not valid")
        return super()._load(self.wrapper + self.inner + data)


class Sm2Keys(DerKeys):
    """SM2: SubjectPublicKeyInfo with id-ecPublicKey, as everybody else writes it; Botan's has an OID of its own."""

    head = bytes.fromhex("3059301306072a8648ce3d020106082a811ccf5501822d034200")

    def _show(self, public: Owned) -> bytes:
        return self.head + self.library.view("pubkey_view_ec_public_point", public)

    def _load(self, data: bytes) -> Owned:
        point = data.removeprefix(self.head)
        if len(point) != 65 or len(data) != len(self.head) + 65:
            raise Refused("the public key is not valid")
        return self.library.make("pubkey_load_sm2_sec1", "pubkey_destroy", point, 65, self.params)


class GostKeys(DerKeys):
    """GOST R 34.10-2012: SubjectPublicKeyInfo of RFC 9215 with CryptoPro-A and Streebog-256.

    Botan reads it, but writes the curve with an OID of tc26, under which others look for another curve.
    """

    head = bytes.fromhex("3066301f06082a85030701010101301306072a85030202230106082a8503070101020203430004" + "40")

    def _show(self, public: Owned) -> bytes:
        return self.head + self.library.view("pubkey_view_der", public)[-64:]

    def _load(self, data: bytes) -> Owned:
        if not data.startswith(self.head) or len(data) != len(self.head) + 64:
            raise Refused("the public key is not valid")
        return super()._load(data)
