#!/usr/bin/env python3
"""Verifies an exported journal: verify_export.py FILE. Exit 0 when sound, 4 when not."""
import base64, hashlib, json, sys
sha = lambda data: hashlib.sha256(data).digest()
heads, tree, problems, records, objects, trailer, session = {}, [], [], 0, 0, None, "?"
for number, line in enumerate(open(sys.argv[1], "rb").read().split(b"\n")[:-1], 1):
    try: value = dict(json.loads(line))
    except (ValueError, TypeError): value = {}
    if trailer: problems.append(f"line {number} stands behind the trailer")
    if "object" in value:
        content = value["text"].encode() if "text" in value else base64.b64decode(value.get("base64", ""))
        if sha(content).hex() != value["object"]: problems.append(f"line {number}: object {value['object']} is altered")
        objects += 1
    elif "trailer" in value: trailer = value["trailer"]
    else:
        session, records, node, size = value.get("session", session), records + 1, sha(b"\0" + line), 1
        last, prev = heads.get(session, (0, "0" * 64))
        seq = value.get("seq", last + 1)
        if seq != last + 1: problems.append(f"session {session} seq {last + 1}: missing, seq {seq} stands there")
        elif value.get("prev") != prev: problems.append(f"session {session} seq {max(last, 1)}: altered, or the next is")
        heads[session] = (seq, node.hex())
        while tree and tree[-1][0] == size: node, size = sha(b"\1" + tree.pop()[1] + node), size * 2
        tree.append((size, node))
root = tree.pop()[1] if tree else sha(b"")
while tree: root = sha(b"\1" + tree.pop()[1] + root)
known = {s: (h["seq"], h["hash"]) for s, h in trailer["heads"].items()} if trailer else heads
for s in sorted({*heads, *known}):
    if heads.get(s) != known.get(s): problems.append(f"session {s} seq {heads.get(s, (0,))[0] or 1}: ends here, the trailer knows {known.get(s)}")
if not trailer: problems.append(f"session {session} seq {heads.get(session, (0,))[0] + 1}: cut off here, there is no trailer")
elif (records, objects, root.hex()) != (trailer["records"], trailer["objects"], trailer["root"]): problems.append("counts or root differ from the trailer")
print("\n".join(problems[:10]) or f"sound: {records} records, {objects} objects, {len(heads)} streams, root {root.hex()}")
sys.exit(4 if problems else 0)
