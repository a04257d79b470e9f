#!/usr/bin/env python3
"""Makes a golden trail with an `althing` binary: `make.py BINARY OUT.jsonl`.

It sets up a project in an empty folder and issues commands of every room, most of which succeed
and some of which are refused on purpose. What it could not do it says at the end.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

BINARY, OUT = sys.argv[1:]
FOLDER = tempfile.mkdtemp(prefix="golden-")
HOME = os.path.join(FOLDER, "home")
os.makedirs(HOME)
ENV = {"PATH": os.environ["PATH"], "HOME": HOME}
FAILED = []
# Public keys of nobody in particular.
KEYS = [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
]


def call(*args, stdin=None):
    return subprocess.run([BINARY, *args], cwd=FOLDER, env=ENV, input=stdin, capture_output=True,
                          text=True)


def do(who, name, /, **args):
    """Issues a command as an agent, or as a person if the name begins with `@`."""
    own = ["do", name, json.dumps(args), "--json"]
    if who.startswith("@"):
        done = call(*own, "--user", who[1:], "--passphrase-stdin", stdin="a long passphrase\n")
    elif who == "system":
        done = call(*own)
    else:
        done = call(*own, "--as", who)
    if done.returncode:
        FAILED.append((who, name, (done.stdout + done.stderr).strip()[:200]))
        return {}
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {}


def text(words):
    return {"content": {"text": words}}


def leases():
    first = do("alice", "lease.open", surfaces=["src/parser"], ttl_s=600, purpose="the grammar")
    do("bob", "lease.open", surfaces=["src/parser/lexer.rs"])
    do("alice", "lease.renew", lease=first.get("lease", "?"), ttl_s=900)
    do("alice", "lease.open", surfaces=["docs"], ttl_s=60, task="t-1", request_id="r-1")
    do("alice", "lease.open", surfaces=["docs/guide.md"], ttl_s=60, task="t-1", replace=True)
    do("alice", "lease.release", lease=first.get("lease", "?"))
    forced = do("bob", "lease.open", surfaces=["Cargo.toml"], ttl_s=60)
    do("@ada", "lease.force", lease=forced.get("lease", "?"), reason="the release needs it")
    do("bob", "lease.open", surfaces=["short"], ttl_s=1)
    time.sleep(1.2)
    do("carol", "session.open", client="golden", idle_s=600)
    do("carol", "lease.open", surfaces=["tests"], ttl_s=600)
    do("carol", "session.close")


def people():
    call("login", "ada", "--passphrase-stdin", stdin="a long passphrase\n")
    keys = [f"ed25519:{key}" for key in KEYS]
    do("@ada", "user.create", user="bo", key=keys[0])
    do("@ada", "user.create", user="cy", key=keys[1], capabilities=["abort_own"])
    for name, args in [
        ("suspend", {"reason": "away"}), ("resume", {}), ("block", {"condition": "asks"}),
        ("unblock", {"condition": "asks"}), ("deactivate", {"reason": "left"}),
        ("reactivate", {}),
    ]:
        do("@ada", f"user.{name}", user="bo", **args)
    do("@ada", "capability.grant", user="bo", capability="suspend_any")
    do("@ada", "capability.revoke", user="bo", capability="suspend_any")
    do("bob", "user.suspend", user="ada")


def agents():
    for name in ["alice", "bob", "carol", "dave", "erin"]:
        do(name, "agent.register", role="worker", tool="golden", tool_version="1")
    do("bob", "agent.heartbeat", looked=True)
    do("@ada", "agent.revoke", agent="bob")
    do("@ada", "agent.reinstate", agent="bob")


def commons():
    do("alice", "symbol.set", id="F1", value="src/parser/mod.rs")
    do("alice", "fact.set", key="msrv", value="1.85")
    do("bob", "fact.set", key="gone", value="x")
    do("bob", "fact.delete", key="gone")
    do("alice", "capsule.write", id="c1", what="the parser reads globs", where="src/parser")
    do("bob", "capsule.write", id="c2", what="the index is ordered", depends=["c1"])
    do("bob", "decision.append", title="canonical JSON", body="integers only")
    do("bob", "dispute.raise", id="d1", title="who owns docs", surfaces=["docs"])
    do("alice", "ledger.log", role="worker", kind="task", tokens=120)
    do("alice", "ledger.baseline", role="worker", tokens=900)
    do("alice", "message.note", outcome="accept", msg_id="m-1")


def memory():
    def create(who, kind, words, **fields):
        made = do(who, "memory.create", kind=kind, text=words, fields=fields)
        return made.get("id") or made.get("record", {}).get("id") or "?"

    plan = create("alice", "plan", "split the parser", steps=[{"text": "lexer"}, {"text": "tree"}])
    for kind in ["constraint", "decision", "trap", "handoff"]:
        create("alice", kind, f"a {kind} to keep")
    create("alice", "candidate", "a candidate", candidate_type="trap")
    do("alice", "memory.update", id=plan, text="split the parser in two", tags=["parser"])
    do("alice", "memory.move", id=plan, to="in_progress")
    do("alice", "memory.step", plan=plan, step="stp_1", status="done")
    do("alice", "memory.offer", lanes=[{"text": "write the lexer",
                 "surfaces": ["src/lexer.rs"], "fields": {"agent": "bob"}}])
    found = do("alice", "memory.find", kind="assignment")
    work = (found.get("items") or [{}])[0].get("id", "?")
    do("bob", "memory.move", id=work, to="accepted")
    do("bob", "memory.move", id=work, to="started")
    do("bob", "memory.progress", id=work, text="half of it")
    do("bob", "memory.move", id=work, to="completed")
    do("alice", "memory.sweep")
    loop = create("alice", "loop", "review the parser", loop_kind="review", phase="change_summary",
                  slots=[{"id": "reviewer", "role": "reviewer", "agent": "bob"}])
    do("bob", "memory.turn", loop=loop, slot="reviewer", outcome="approved")
    trap = create("bob", "trap", "soon over")
    do("bob", "memory.move", id=trap, to="resolved")
    do("bob", "memory.archive", id=trap, reason="over")


def run():
    run = do("@ada", "run.start", agent="alice", highway={"preset": "autonomous"})
    root = run.get("workspace", "?")
    graph = do("alice", "task.graph", tasks=[
        {"key": "a", "name": "one", "description": {"text": "the first"}},
        {"key": "b", "name": "two", "description": {"text": "the second"}, "depends_on": ["a"]}])
    graph_id = graph.get("graph", "?")
    do("alice", "task.add", graph=graph_id, name="three", description={"text": "the third"})
    do("@ada", "task.approve", graph=graph_id)
    first = (graph.get("tasks") or {}).get("a", "?")
    bound = do("alice", "task.assign", task=first, agent="bob", budget={"token_limit": 1000})
    ws = bound.get("workspace", "?")
    do("bob", "inbox.take", workspace=ws)
    do("bob", "signal.emit", type="started", workspace=ws)
    do("bob", "workspace.write", path="src/lib.rs", content={"text": "fn f() {}"}, workspace=ws)
    do("bob", "meter.report", tokens=850, cost=3, workspace=ws)
    do("alice", "workspace.modify_budget", workspace=ws, limits={"token_limit": 5000})
    do("alice", "workspace.set_priority", workspace=ws, priority="interactive")
    do("bob", "envelope.send", to=root, type="query", payload=text("which form?"), workspace=ws)
    do("alice", "inbox.take", workspace=root)
    do("alice", "envelope.send", to=ws, type="feedback", payload=text("the short one"))
    do("bob", "inbox.take", workspace=ws)
    do("bob", "signal.emit", type="blocked", reason="waits", workspace=ws)
    do("bob", "signal.emit", type="started", workspace=ws)
    do("bob", "checkpoint.create", type="artifact", intent="done", status="final",
       content={"text": "it works"}, files_changed=[{"path": "src/lib.rs",
       "content": {"text": "fn f() {}"}}], workspace=ws)
    do("bob", "signal.emit", type="complete", workspace=ws)
    do("alice", "integration.decide", workspace=ws, decision="accept", strategy="evaluated",
       merged=[{"path": "src/lib.rs", "content": {"text": "fn f() {}"}}])
    second = do("alice", "workspace.create", agent="carol", role="worker", group="g",
                delegate=True, directive=text("look around")).get("workspace", "?")
    third = do("alice", "workspace.create", agent="bob", role="worker",
               directive=text("help"), group="g").get("workspace", "?")
    do("carol", "inbox.take", workspace=second)
    do("alice", "workspace.grant_visibility", workspace=second, target=third)
    do("alice", "right.grant", holder=second, target=third, once=True)
    right = do("alice", "right.grant", holder=third, target=second).get("right", "?")
    do("alice", "right.revoke", right=right)
    do("alice", "workspace.suspend", workspace=second, reason="wait")
    do("alice", "workspace.resume", workspace=second)
    do("alice", "workspace.migrate", workspace=second, agent="dave")
    do("dave", "inbox.take", workspace=second)
    do("alice", "workspace.batch_priority", group="g", priority="critical")
    do("bob", "inbox.take", workspace=third)
    do("alice", "workspace.terminate", workspace=third, grace_s=60)
    do("bob", "workspace.abort", workspace=third)
    do("@ada", "workspace.transfer", workspace=third, to="bo")
    return root, second, third


def highway(root, second):
    do("@ada", "highway.configure", gates=["workspace_abort", "workspace_create"], injection=True)
    do("@ada", "highway.inject", to=second, type="feedback", payload=text("mind the tests"))
    waits = do("alice", "workspace.create", agent="erin", role="worker",
               directive=text("look at the tests"))
    do("@ada", "gate.resolve", gate=waits.get("gate", "?"), action="approve")
    waits = do("alice", "workspace.abort", workspace=second, reason="over")
    do("@ada", "gate.resolve", gate=waits.get("gate", "?"), action="reject", reason="not yet")
    said = do("dave", "signal.emit", type="escalation", reason="need a person", workspace=second)
    do("@ada", "escalation.answer", escalation=said.get("signal_id", "?"), response="envelope",
       payload=text("go on"))
    do("@ada", "highway.configure", gates=[])
    do("alice", "workspace.batch_abort", group="g", reason="enough")
    do("alice", "run.hand_over", agent="carol")
    do("carol", "run.end", force=True, reason="done")


call("init", "--name", "golden")
people()
agents()
leases()
commons()
memory()
root, second, _ = run()
highway(root, second)
exported = call("trail", "export")
with open(OUT, "w", encoding="utf-8") as out:
    out.write(exported.stdout)
for failure in FAILED:
    print(*failure, file=sys.stderr)
