#!/usr/bin/env python3
"""Verify an exported trail without Althing: standard library only.

    althing trail export > trail.jsonl
    python3 examples/verify.py trail.jsonl

It recomputes both hash chains, the tree root of every commit, the link from each head to the
one before it, and every head's Ed25519 signature, and names the first thing that is wrong.
What it does not do is replay the rules, look at the clock or check what callers signed;
`althing trail verify --signatures` does that too.
"""

import base64
import hashlib
import json
import sys


def sha256(*pieces):
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def canonical(value):
    """RFC 8785 for what a trail contains: no floats, and only ASCII keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


# --- Ed25519 verification, straight from RFC 8032 ---------------------------------------------
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
I = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * I % P
    if (x * x - x2) % P:
        raise ValueError("not a point")
    return P - x if x & 1 != sign else x


def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    e, f = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    g, h = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def decode(raw):
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    x = recover_x(y, sign)
    return (x, y, 1, x * y % P)


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (recover_x(BASE_Y, 0), BASE_Y, 1, recover_x(BASE_Y, 0) * BASE_Y % P)


def is_signed(public, message, signature):
    try:
        a, r = decode(public), decode(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(k, a))
    same = lambda i: (left[i] * right[2] - right[i] * left[2]) % P == 0
    return same(0) and same(1)


# --- The trail ----------------------------------------------------------------------------------
class Bad(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Bad(what)


class Trail:
    def __init__(self):
        self.seq, self.prev, self.roots = 0, None, []
        self.locals, self.streams = {}, {}
        self.project = self.key = self.last_commit = None

    def entry(self, line):
        entry = json.loads(line)
        self.seq += 1
        expect(canonical(entry) == line.encode(), "not in canonical form")
        expect(entry["seq"] == self.seq, "out of sequence")
        expect(entry.get("prev") == self.prev, "prev does not fit")
        rest = {k: v for k, v in entry.items() if k != "hash"}
        digest = sha256(b"althing/v1/global\0", canonical(rest))
        expect(entry["hash"] == digest.hex(), "hash does not fit")
        workspace = entry.get("workspace")
        expect(("local_hash" in entry) == (workspace is not None), "local hash out of place")
        if workspace is not None:
            expect(entry.get("local_prev") == self.locals.get(workspace), "local_prev does not fit")
            own = {k: v for k, v in rest.items() if k not in ("local_hash", "prev", "seq")}
            local = sha256(b"althing/v1/local\0", canonical(own)).hex()
            expect(entry["local_hash"] == local, "local hash does not fit")
            self.locals[workspace] = local
        place = self.streams.get(entry["stream"], 0) + 1
        expect(entry["stream_seq"] == place, "out of place in its stream")
        self.streams[entry["stream"]] = place
        self.prev = entry["hash"]
        if entry["kind"] == "project.created":
            self.project, self.key = entry["body"]["project"], entry["body"]["runtime_key"]
        if entry["kind"] == "runtime.rekeyed":
            self.key = entry["body"]["new_key"]
        # RFC 6962: the roots of the full subtrees, largest first.
        node, size = sha256(b"\0", digest), self.seq - 1
        while size & 1:
            node, size = sha256(b"\1", self.roots.pop(), node), size >> 1
        self.roots.append(node)

    def head(self, text):
        body, _, signature = text.partition("\n\n")
        lines = body.split("\n")
        expect(lines[0] == f"althing/{self.project}", "the head is of another project")
        expect(lines[1] == str(self.seq), "the head is for another size")
        root = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            root = sha256(b"\1", left, root)
        expect(lines[2] == base64.b64encode(root).decode(), "the head has another root")
        link = [] if self.last_commit is None else [f"prev {self.last_commit}"]
        expect(lines[3:] == link, "the head does not name the commit before")
        public = bytes.fromhex(self.key.removeprefix("ed25519:"))
        blob = base64.b64decode(signature.split(" ")[-1])
        name = lines[0].encode()
        expect(blob[:4] == sha256(name + b"\n\x01" + public)[:4], "the head names another key")
        expect(is_signed(public, (body + "\n").encode(), blob[4:]), "the head's signature is bad")
        self.last_commit = sha256(b"althing/v1/commit\0", text.encode()).hex()


def main():
    if len(sys.argv) > 2 or sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 2
    try:
        source = open(sys.argv[1], encoding="utf-8") if len(sys.argv) > 1 else sys.stdin
    except OSError as problem:
        print(problem)
        return 2
    trail, heads, closed = Trail(), 0, True
    try:
        for line in source:
            line = line.rstrip("\n")
            closed = line.startswith('{"head":')
            if closed:
                trail.head(json.loads(line)["head"])
                heads += 1
            else:
                trail.entry(line)
        expect(trail.seq > 0, "there are no entries; every trail has at least one")
        expect(closed, "the file is cut off: no head after the last entries")
    except (Bad, ValueError, KeyError) as problem:
        print(f"entry {trail.seq}: {problem}")
        return 1
    print(f"verified {trail.seq} entries and {heads} signed heads of project {trail.project}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
