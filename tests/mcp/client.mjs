// The official TypeScript client against the server: node client.mjs PROGRAM PROJECT

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [program, project, installed] = process.argv.slice(2);
const require = createRequire(`${installed}/package.json`);
const load = (path) => import(pathToFileURL(require.resolve(path)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");

const tools = [
  "read_claims",
  "make_claim",
  "release_claim",
  "read_capsules",
  "append_decision",
  "raise_conflict_pr",
];

async function connect(name) {
  const client = new Client({ name, version: "1.0" });
  const args = ["mcp", "--dialect", "frugal"];
  await client.connect(new StdioClientTransport({ command: program, args, cwd: project }));
  return client;
}

async function call(client, name, args, fails = false) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, fails, JSON.stringify(result));
  const text = JSON.parse(result.content[0].text);
  if (!fails) assert.deepEqual(text, result.structuredContent);
  return text;
}

const [one, two] = [await connect("node-one"), await connect("node-two")];
assert.equal(one.getServerVersion().name, "heimdall-ledger-mcp");
assert.deepEqual((await one.listTools()).tools.map((tool) => tool.name), tools);
await one.ping();

const claim = { surfaces: ["node/**"], task: "T-1" };
const made = await call(one, "make_claim", claim);
assert.ok(made.haid.endsWith("/node-one"), made.haid);
const told = await call(two, "make_claim", claim, true);
assert.ok(told.detail.startsWith("COLLISION: cannot claim"), told.detail);
assert.ok(told.detail.includes(made.haid), told.detail);
const held = await call(two, "read_claims", {});
assert.ok(held.active_claims.some((claim) => claim.haid === made.haid));
const decided = await call(two, "append_decision", { title: "node", body: "Yes." });
assert.equal(decided.appended, true);
const read = await call(two, "read_capsules", {});
assert.ok(read.capsules.some((capsule) => capsule.id === "w1"));
const conflict = { id: "node-1", title: "both", surfaces: claim.surfaces };
const raised = await call(two, "raise_conflict_pr", conflict);
assert.ok(raised.pr_path.includes("conflict/node-1"), raised.pr_path);
const freed = await call(one, "release_claim", {});
assert.equal(freed.result, `released claim for ${made.haid}`);
await call(two, "make_claim", claim);
await call(two, "release_claim", {});
const wrong = await call(two, "make_claim", { surfaces: [], task: "x" }, true);
assert.ok(wrong.error.includes("non-empty 'surfaces'"), wrong.error);
await assert.rejects(two.listPrompts());
await one.close();
await two.close();
console.log("all well");
