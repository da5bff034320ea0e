"""Verifies a proof that a record is in a journal: verify_proof.py FILE [PUBLIC_KEY ...]

FILE is what `recount prove` wrote: a record, its place, and a signed checkpoint. PUBLIC_KEY is the
line that `recount checkpoint key` printed; the checkpoint must be signed by one of them. Without
one only the place of the record is checked, and the checkpoint may be a forgery.
Exit code 0: the proof holds. Exit code 4: it does not. It needs Python 3, and the package
`cryptography` for signatures. The formats are those of c2sp.org/tlog-proof,
c2sp.org/tlog-checkpoint and c2sp.org/signed-note.
"""

import base64
import hashlib
import json
import sys


def sha256(data):
    return hashlib.sha256(data).digest()


def decoded(text):
    return base64.b64decode(text, validate=True)


def root_of(leaf, index, size, path):
    """The root to which the hashes beside the way lead, as in RFC 9162, section 2.1.3.2."""
    if index >= size:
        raise ValueError(f"leaf {index} lies outside the {size} records of the checkpoint")
    node, place, last = leaf, index, size - 1
    for beside in path:
        if last == 0:
            raise ValueError("the proof has too many hashes")
        if place % 2 == 1 or place == last:
            node = sha256(b"\1" + beside + node)
            while place % 2 == 0 and place != 0:
                place, last = place // 2, last // 2
        else:
            node = sha256(b"\1" + node + beside)
        place, last = place // 2, last // 2
    if last != 0:
        raise ValueError("the proof has too few hashes")
    return node


def is_signed(text, signature, key):
    """True if the key with this name and id made the signature, which is checked if so."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    name, identity, public = key.strip().split("+", 2)
    public = decoded(public)
    if public[:1] != b"\1" or sha256(name.encode() + b"\n" + public)[:4].hex() != identity:
        raise ValueError(f"{key} is no public key")
    signer, _, signed = signature.removeprefix("\u2014 ").partition(" ")
    signed = decoded(signed)
    if signer != name or signed[:4].hex() != identity:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public[1:]).verify(signed[4:], text.encode())
    except InvalidSignature:
        raise ValueError(f"the signature of {name} is not over this checkpoint") from None
    return True


def verified(proof, keys):
    """The record, its place, the size and origin of the checkpoint, and its known signers."""
    head, note = proof.split("\n\n", 1)
    first, extra, index, *path = head.split("\n")
    if first != "c2sp.org/tlog-proof@v1":
        raise ValueError("this is no proof of c2sp.org/tlog-proof@v1")
    line = decoded(extra.removeprefix("extra "))
    index = int(index.removeprefix("index "))
    text, signatures = note.rsplit("\n\n", 1)
    text += "\n"
    origin, size, root = text.split("\n")[:3]
    leaf = sha256(b"\0" + line)
    if root_of(leaf, index, int(size), [decoded(it) for it in path]) != decoded(root):
        raise ValueError("the proof leads to another root than that of the checkpoint")
    signatures = signatures.splitlines()
    signed = [key.split("+")[0] for key in keys for it in signatures if is_signed(text, it, key)]
    if keys and not signed:
        raise ValueError("no given key has signed the checkpoint")
    return json.loads(line), index, int(size), origin, signed


def main(path, keys):
    try:
        with open(path, encoding="utf-8") as file:
            record, index, size, origin, signed = verified(file.read(), keys)
    except (ValueError, KeyError) as error:
        print(f"the proof does not hold: {ascii(str(error))[1:-1]}")
        return 4
    verdict = f"proven, signed by {', '.join(signed)}" if signed else "consistent, not anchored"
    place = f"leaf {index} of {size} records of {origin}"
    what = f"record {record['seq']} of session {record['session']} ({record['kind']})"
    print(ascii(f"{verdict}: {what} is {place}")[1:-1])
    return 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
