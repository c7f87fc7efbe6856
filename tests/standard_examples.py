"""Short examples of public standards: the inputs, and of the outputs enough to hold what the libraries compute against."""

from __future__ import annotations


def _h(text: str) -> bytes:
    return bytes.fromhex(text)


_NIST_TEXT = b"Sample message for keylen<blocklen"
_RFC4231 = ("RFC 4231, 4.3", b"Jefe", b"what do ya want for nothing?")
_RFC7836 = (_h("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"), _h("0126bdb87800af214341456563780100"))
_BLOCK = _h("6bc1bee22e409f96e93d7e117393172a")
_KMAC_KEY = bytes(range(0x40, 0x60))

# name: (source, key, message, tag or None)
MAC: dict[str, tuple[str, bytes, bytes, bytes | None]] = {
    "HMAC-SHA256": (*_RFC4231, _h("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")),
    "HMAC-SHA384": (*_RFC4231, _h("af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47")),
    "HMAC-SHA512": (*_RFC4231, _h("164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd6")),
    "HMAC-SHA3-256": (
        "NIST example values, HMAC-SHA3-256, sample 1",
        bytes(range(32)),
        _NIST_TEXT,
        _h("4fe8e202c4f058e8dddc23d8c34e467343e23555e24fc2f025d598f558f67205"),
    ),
    "HMAC-SHA3-384": ("NIST example values, HMAC-SHA3-384, sample 1", bytes(range(48)), _NIST_TEXT, None),
    "HMAC-SHA3-512": ("NIST example values, HMAC-SHA3-512, sample 1", bytes(range(64)), _NIST_TEXT, None),
    "HMAC-Streebog-256": (
        "RFC 7836, A.1",
        *_RFC7836,
        _h("a1aa5f7de402d7b3d323f2991c8d4534013137010a83754fd0af6d7cd4922ed9"),
    ),
    "HMAC-Streebog-512": ("RFC 7836, A.1", *_RFC7836, _h("a59bab22ecae19c65fbde6e5f4e9f5d8549d31f037f9df9b905500e171923a77")),
    "KMAC128": (
        "SP 800-185 example values, KMAC sample 1",
        _KMAC_KEY,
        _h("00010203"),
        _h("e5780b0d3ea6f7d3a429c5706aa43a00fadbd7d49628839e3187243f456ee14e"),
    ),
    "KMAC256": (
        "SP 800-185 example values, KMAC sample 5",
        _KMAC_KEY,
        bytes(range(200)),
        _h("75358cf39e41494e949707927cee0af2"),
    ),
    "CMAC-AES-128": ("SP 800-38B, D.1, example 2", _h("2b7e151628aed2a6abf7158809cf4f3c"), _BLOCK, _h("070a16b46b4d4144")),
    "CMAC-AES-192": (
        "SP 800-38B, D.2, example 6",
        _h("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
        _BLOCK,
        _h("9e99a7bf31e710900662f65e617c5184"),
    ),
    "CMAC-AES-256": (
        "SP 800-38B, D.3, example 10",
        _h("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
        _BLOCK,
        _h("28a7023f452e8f82bd4bf28d8c37c35c"),
    ),
}

_GCM_KEY = _h("feffe9928665731c6d6a8f9467308308")
_GCM_IV = _h("cafebabefacedbaddecaf888")
_GCM_AAD = _h("feedfacedeadbeeffeedfacedeadbeefabaddad2")
_GCM_TEXT = _h(
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
)
_SUNSCREEN = (
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
)
_KERCKHOFFS = (
    b"A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy without "
    b"inconvenience"
)
_JWA = (_h("1af38c2dc2b96ffdd86694092341bc04"), b"The second principle of Auguste Kerckhoffs", _KERCKHOFFS)
_SM4_TEXT = _h("".join(octet * 8 for octet in ("aa", "bb", "cc", "dd", "ee", "ff", "ee", "aa")))

# name: (source, key, nonce, aad, data, end or start of the sealed octets or None)
AEAD: dict[str, tuple[str, bytes, bytes, bytes, bytes, bytes | None]] = {
    f"AES-{bits}-GCM": (
        f"GCM specification (McGrew, Viega), test case {case}",
        (_GCM_KEY * 2)[: bits // 8],
        _GCM_IV,
        _GCM_AAD,
        _GCM_TEXT,
        _h(tag),
    )
    for bits, case, tag in (
        (128, 4, "5bc94fbc3221a5db94fae95ae7121a47"),
        (192, 10, "2519498e80f1478f37ba55bd6d27618c"),
        (256, 16, "76fc6ece0f4e1768cddf8853bb2d551b"),
    )
} | {
    "ChaCha20-Poly1305": (
        "RFC 8439, 2.8.2",
        bytes(range(0x80, 0xA0)),
        _h("070000004041424344454647"),
        _h("50515253c0c1c2c3c4c5c6c7"),
        _SUNSCREEN,
        _h("1ae10b594f09e26a7e902ecbd0600691"),
    ),
    "SM4-GCM": (
        "RFC 8998, A.1",
        _h("0123456789abcdeffedcba9876543210"),
        _h("00001234567800000000abcd"),
        _GCM_AAD,
        _SM4_TEXT,
        _h("83de3541e4c2b58177e065a9bf7b62ec"),
    ),
    "AES-128-CBC-HMAC-SHA256": ("RFC 7518, B.1", bytes(range(32)), *_JWA, _h("652c3fa36b0a7c5b3219fab3a30bc1c4")),
    "AES-192-CBC-HMAC-SHA384": (
        "RFC 7518, B.2",
        bytes(range(48)),
        *_JWA,
        _h("8490ac0e58949bfe51875d733f93ac2075168039ccc733d7"),
    ),
    "AES-256-CBC-HMAC-SHA512": (
        "RFC 7518, B.3",
        bytes(range(64)),
        *_JWA,
        _h("4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5"),
    ),
}

_CONTENT = bytes.fromhex("00112233445566778899aabbccddeeff")

# name: (source, key, content key, wrapped)
WRAP: dict[str, tuple[str, bytes, bytes, bytes]] = {
    "AES-128-KW": ("RFC 3394, 4.1", bytes(range(16)), _CONTENT, _h("1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5")),
    "AES-192-KW": ("RFC 3394, 4.2", bytes(range(24)), _CONTENT, _h("96778b25ae6ca435f92b5b97c050aed2468ab8a17ad84e5d")),
    "AES-256-KW": (
        "RFC 3394, 4.6",
        bytes(range(32)),
        _CONTENT + bytes(range(16)),
        _h("28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"),
    ),
    "AES-128-GCMKW": (
        "GCM specification (McGrew, Viega), test case 3",
        (_GCM_KEY * 2)[:16],
        _GCM_TEXT + _h("1aafd255"),
        _GCM_IV
        + _h(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba3"
            "0b396a0aac973d58e091473f59854d5c2af327cd64a62cf35abd2ba6fab4"
        ),
    ),
    "AES-192-GCMKW": (
        "GCM specification (McGrew, Viega), test case 9",
        (_GCM_KEY * 2)[:24],
        _GCM_TEXT + _h("1aafd255"),
        _GCM_IV
        + _h(
            "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2"
            "448b2fe324d9ccda2710acade2569924a7c8587336bfb118024db8674a14"
        ),
    ),
    "AES-256-GCMKW": (
        "GCM specification (McGrew, Viega), test case 15",
        (_GCM_KEY * 2)[:32],
        _GCM_TEXT + _h("1aafd255"),
        _GCM_IV
        + _h(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f6"
            "1e6393ba7a0abcc9f662898015adb094dac5d93471bdec1a502270e3cc6c"
        ),
    ),
}

# name: (source, private, ciphertext, secret)
KEM: dict[str, tuple[str, bytes, bytes, bytes]] = {
    "P-256": (
        "RFC 5903, 8.1",
        _h("c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433"),
        _h(
            "04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c58d6aac"
            "23f046ada30f8353e74f33039872ab"
        ),
        _h("d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de"),
    ),
    "P-384": (
        "RFC 5903, 8.2",
        _h("099f3c7034d4a2c699884d73a375a67f7624ef7c6b3c0f160647b67414dce655e35b538041e649ee3faef896783ab194"),
        _h(
            "04e558dbef53eecde3d3fccfc1aea08a89a987475d12fd950d83cfa41732bc509d0d1ac43a0336def96fda41d0774a3571dc"
            "fbec7aacf3196472169e838430367f66eebe3c6e70c416dd5f0c68759dd1fff83fa40142209dff5eaad96db9e6386c"
        ),
        _h("11187331c279962d93d604243fd592cb9d0a926f422e47187521287e7156c5c4d603135569b9e9d09cf5d4a270f59746"),
    ),
    "P-521": (
        "RFC 5903, 8.3",
        _h(
            "0037ade9319a89f4dabdb3ef411aaccca5123c61acab57b5393dce47608172a095aa85a30fe1c2952c6771d937ba9777f595"
            "7b2639bab072462f68c27a57382d4a52"
        ),
        _h(
            "0400d0b3975ac4b799f5bea16d5e13e9af971d5e9b984c9f39728b5e5739735a219b97c356436adc6e95bb0352f6be64a6c2"
            "912d4ef2d0433ced2b6171640012d9460f015c68226383956e3bd066e797b623c27ce0eac2f551a10c2c724d9852077b8722"
            "0b6536c5c408a1d2aebb8e86d678ae49cb57091f4732296579ab44fcd17f0fc56a"
        ),
        _h(
            "01144c7d79ae6956bc8edb8e7c787c4521cb086fa64407f97894e5e6b2d79b04d1427e73ca4baa240a34786859810c06b3c7"
            "15a3a8cc3151f2bee417996d19f3ddea"
        ),
    ),
    "X25519": (
        "RFC 7748, 6.1",
        _h("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"),
        _h("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"),
        _h("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"),
    ),
    "X448": (
        "RFC 7748, 6.2",
        _h("9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf574a9419744897391006382a6f127ab1d9ac2d8c0a598726b"),
        _h("3eb7a829b0cd20f5bcfc0b599b6feccf6da4627107bdb0d4f345b43027d8b972fc3e34fb4232a13ca706dcb57aec3dae07bdc1c67bf33609"),
        _h("07fff4181ac6cc95ec1c16a94a0f74d12da232ce40a77552281d282bb60c0b56fd2464c335543936521c24403085d59a449a5037514a879d"),
    ),
}

# name: (source, public, message, signature)
SIGNATURE: dict[str, tuple[str, bytes, bytes, bytes]] = {
    "Ed25519": (
        "RFC 8032, 7.1, test 2",
        _h("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"),
        _h("72"),
        _h(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b"
            "2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    "Ed448": (
        "RFC 8032, 7.4, 1 octet",
        _h(
            "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480"
        ),
        _h("03"),
        _h(
            "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633fc1b"
            "f037ab7cd779805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0ff3348ab2"
            "1aa4adafd1d234441cf807c03a00"
        ),
    ),
    "P-256": (
        "RFC 6979, A.2.5",
        _h(
            "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2"
            "f1b20c2d7e9f5177a3c294d4462299"
        ),
        _h("73616d706c65"),
        _h(
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716f7cb1c942d657c41d436c7a1b6e29f65f3e9"
            "00dbb9aff4064dc4ab2f843acda8"
        ),
    ),
    "P-384": (
        "RFC 6979, A.2.6",
        _h(
            "04ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64def8f0ea9055866064a254515480bc1380"
            "15d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720"
        ),
        _h("73616d706c65"),
        _h(
            "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe4699ef"
            "4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8"
        ),
    ),
    "P-521": (
        "RFC 6979, A.2.7",
        _h(
            "0401894550d0785932e00eaa23b694f213f8c3121f86dc97a04e5a7167db4e5bcd371123d46e45db6b5d5370a7f20fb63315"
            "5d38ffa16d2bd761dcac474b9a2f5023a400493101c962cd4d2fddf782285e64584139c2f91b47f87ff82354d6630f746a28"
            "a0db25741b5b34a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfcf5"
        ),
        _h("73616d706c65"),
        _h(
            "00c328fafcbd79dd77850370c46325d987cb525569fb63c5d3bc53950e6d4c5f174e25a1ee9017b5d450606add152b534931"
            "d7d4e8455cc91f9b15bf05ec36e377fa00617cce7cf5064806c467f678d3b4080d6f1cc50af26ca209417308281b68af2826"
            "23eaa63e5b5c0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a"
        ),
    ),
    "SM2": (
        "GM/T 0003.5-2012, A.2",
        _h(
            "3059301306072a8648ce3d020106082a811ccf5501822d0342000409f9df311e5421a150dd7d161e4bc5c672179fad1833fc"
            "076bb08ff356f35020ccea490ce26775a52dc6ea718cc1aa600aed05fbf35e084a6632f6072da9ad13"
        ),
        _h("6d65737361676520646967657374"),
        _h(
            "f5a03b0648d2c4630eeac513e1bb81a15944da3827d5b74143ac7eaceee720b3b1b6aa29df212fd8763182bc0d421ca1bb90"
            "38fd1f7f42d4840b69c485bbc1aa"
        ),
    ),
}
