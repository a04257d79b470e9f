"""The official Python client against the server: python client.py PROGRAM PROJECT MODE

MODE is "legacy" (initialize) or "auto" (the newest revision, without it).
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

PROGRAM, PROJECT, MODE = sys.argv[1:4]
TOOLS = [
    "read_claims",
    "make_claim",
    "release_claim",
    "read_capsules",
    "append_decision",
    "raise_conflict_pr",
]


def connect(name):
    server = StdioServerParameters(command=PROGRAM, args=["mcp", "--dialect", "frugal"], cwd=PROJECT)
    info = Implementation(name=name, version="1.0")
    return Client(stdio_client(server), client_info=info, mode=MODE)


async def call(client, tool, arguments, fails=False):
    result = await client.call_tool(tool, arguments)
    assert result.is_error == fails, result
    text = json.loads(result.content[0].text)
    if not fails:
        assert text == result.structured_content, result
    return text


async def main():
    async with connect(f"python-{MODE}-one") as one, connect(f"python-{MODE}-two") as two:
        listed = await one.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS, listed
        claim = {"surfaces": [f"py-{MODE}/**"], "task": "T-1"}
        made = await call(one, "make_claim", claim)
        assert made["haid"].endswith(f"/python-{MODE}-one"), made
        told = await call(two, "make_claim", claim, fails=True)
        assert told["detail"].startswith("COLLISION: cannot claim"), told
        assert made["haid"] in told["detail"], told
        held = await call(two, "read_claims", {})
        assert made["haid"] in [claim["haid"] for claim in held["active_claims"]], held
        decided = await call(two, "append_decision", {"title": f"python {MODE}", "body": "Yes."})
        assert decided["appended"] is True, decided
        capsules = await call(two, "read_capsules", {})
        assert "w1" in [capsule["id"] for capsule in capsules["capsules"]], capsules
        conflict = {"id": f"py-{MODE}", "title": "both", "surfaces": claim["surfaces"]}
        raised = await call(two, "raise_conflict_pr", conflict)
        assert f"conflict/py-{MODE}" in raised["pr_path"], raised
        freed = await call(one, "release_claim", {})
        assert freed["result"] == f"released claim for {made['haid']}", freed
        await call(two, "make_claim", claim)
        await call(two, "release_claim", {})
        wrong = await call(two, "make_claim", {"surfaces": [], "task": "x"}, fails=True)
        assert "non-empty 'surfaces'" in wrong["error"], wrong
    print("all well")


asyncio.run(main())
