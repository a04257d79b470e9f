// A model that follows a script, for tests of real agent programs without an account or a network.
//
//   node model.mjs SCRIPT       prints its address and answers until its standard input ends
//
// SCRIPT is a JSON file with a list of turns for every task, by the task's key. A turn is one
// answer of the model:
//   {"say": TEXT}                         the end of its work
//   {"read": PATH}                        reads a file
//   {"write": PATH, "content": TEXT}      writes a new file
//   {"edit": PATH, "old": A, "new": B}    changes a line of a file
//   {"shell": COMMAND}                    runs a command
// All but the first use the agent's own tools. `$HEARD` in a content is what the tool said that was
// used before. Which turn it is follows from the conversation, so a resumed session goes on where
// it was. Every answer counts 1000 tokens read, 200 of them from the cache, and 50 written.
//
// Claude Code speaks Anthropic's Messages, Codex OpenAI's Responses, Gemini CLI Google's own words;
// all of them stream.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const scripts = JSON.parse(readFileSync(process.argv[2], "utf8"));
let made = 0;
const id = (kind) => `${kind}_${(made += 1)}`;
const count = (list, is) => list.filter(is).length;

// ---- Anthropic's Messages
const claudeTool = (turn) => {
  const file_path = turn.read ?? turn.write ?? turn.edit;
  if (turn.read) return ["Read", { file_path }];
  if (turn.write) return ["Write", { file_path, content: turn.content }];
  if (turn.edit) return ["Edit", { file_path, old_string: turn.old, new_string: turn.new }];
  if (turn.shell) return ["Bash", { command: turn.shell, description: "scripted" }];
  return undefined;
};

const messages = {
  number: ({ messages }) => count(messages, ({ role }) => role === "assistant"),
  heard: ({ messages }) => messages.filter(({ role }) => role === "user").at(-1)?.content,
  *answer({ model }, turn) {
    const [name, input] = claudeTool(turn) ?? [];
    const block = name
      ? { type: "tool_use", id: id("toolu"), name, input: {} }
      : { type: "text", text: "" };
    const delta = name
      ? { type: "input_json_delta", partial_json: JSON.stringify(input) }
      : { type: "text_delta", text: turn.say };
    const usage = { input_tokens: 800, cache_read_input_tokens: 200, output_tokens: 1 };
    const head = { id: id("msg"), type: "message", role: "assistant", model };
    const message = { ...head, content: [], usage };
    const stop_reason = name ? "tool_use" : "end_turn";
    yield { type: "message_start", message };
    yield { type: "content_block_start", index: 0, content_block: block };
    yield { type: "content_block_delta", index: 0, delta };
    yield { type: "content_block_stop", index: 0 };
    yield { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 50 } };
    yield { type: "message_stop" };
  },
};

// ---- OpenAI's Responses
const patch = (...lines) => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

const codexItem = (turn) => {
  const call = { call_id: id("call"), status: "completed" };
  const run = (cmd) => {
    const text = JSON.stringify({ cmd });
    return { type: "function_call", id: id("fc"), ...call, name: "exec_command", arguments: text };
  };
  const apply = (input) =>
    ({ type: "custom_tool_call", id: id("ctc"), ...call, name: "apply_patch", input });
  if (turn.read) return run(`cat ${turn.read}`);
  if (turn.shell) return run(turn.shell);
  if (turn.edit) {
    const change = ["@@", `-${turn.old}`, `+${turn.new}`];
    return apply(patch(`*** Update File: ${turn.edit}`, ...change));
  }
  if (turn.write) {
    const lines = turn.content.replace(/\n$/, "").split("\n").map((line) => `+${line}`);
    return apply(patch(`*** Add File: ${turn.write}`, ...lines));
  }
  const content = [{ type: "output_text", text: turn.say, annotations: [] }];
  return { type: "message", id: id("msg"), role: "assistant", status: "completed", content };
};

const responses = {
  number: ({ input }) => count(input, (own) => own.role === "assistant" || /_call$/.test(own.type)),
  heard: ({ input }) => input.filter(({ type }) => /_call_output$/.test(type)).at(-1)?.output,
  *answer({ model }, turn) {
    const item = codexItem(turn);
    const usage = {
      input_tokens: 1000, input_tokens_details: { cached_tokens: 200 }, output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 1050,
    };
    const response = { id: id("resp"), object: "response", created_at: 1, model };
    const created = { ...response, status: "in_progress", output: [] };
    const completed = { ...response, status: "completed", output: [item], usage };
    yield { type: "response.created", response: created };
    yield { type: "response.output_item.added", output_index: 0, item };
    yield { type: "response.output_item.done", output_index: 0, item };
    yield { type: "response.completed", response: completed };
  },
};

// ---- Google's contents
const geminiTool = (turn) => {
  const file_path = turn.read ?? turn.write ?? turn.edit;
  const change = { old_string: turn.old, new_string: turn.new, instruction: "scripted" };
  if (turn.read) return { name: "read_file", args: { file_path } };
  if (turn.write) return { name: "write_file", args: { file_path, content: turn.content } };
  if (turn.edit) return { name: "replace", args: { file_path, ...change } };
  if (turn.shell) return { name: "run_shell_command", args: { command: turn.shell } };
  return undefined;
};

const contents = {
  number: ({ contents }) => count(contents, ({ role }) => role === "model"),
  heard: ({ contents }) => contents.at(-1).parts,
  *answer(_, turn) {
    const functionCall = geminiTool(turn);
    const parts = [functionCall ? { functionCall } : { text: turn.say }];
    const usageMetadata = {
      promptTokenCount: 1000, cachedContentTokenCount: 200, candidatesTokenCount: 50,
      totalTokenCount: 1050,
    };
    const content = { role: "model", parts };
    yield { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
  },
};

// The turn that a request asks for. A brief begins with what is to be done.
function turnOf(api, request, text) {
  // Titles and summaries are asked for without tools; they are no turn.
  if (!request.tools?.length) return { say: "ok" };
  const key = Object.keys(scripts).find((key) => text.includes(`# Do ${key}\\n`));
  const turns = scripts[key] ?? [{ say: "There is no script for this." }];
  const turn = turns[api.number(request)] ?? { say: "There is nothing left to do." };
  if (!turn.content?.includes("$HEARD")) return turn;
  const heard = JSON.stringify(api.heard(request)).replace(/\s+/g, " ");
  return { ...turn, content: turn.content.replace("$HEARD", () => heard) };
}

const GOOGLE = "streamGenerateContent";
const server = createServer((request, reply) => {
  let text = "";
  request.on("data", (piece) => (text += piece));
  request.on("end", () => {
    const path = request.url.split("?")[0];
    const apis = { messages, responses, [GOOGLE]: contents };
    const api = apis[path.split(/[/:]/).at(-1)];
    if (request.method !== "POST" || !api) {
      reply.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const asked = JSON.parse(text);
    reply.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.answer(asked, turnOf(api, asked, text))) {
      const name = event.type ? `event: ${event.type}\n` : "";
      reply.write(`${name}data: ${JSON.stringify(event)}\n\n`);
    }
    reply.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
