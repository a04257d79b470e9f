// A model that follows a script, for tests of real agent programs without an account or a network.
//
//   node model.mjs SCRIPT       prints its address and answers until its standard input ends
//
// SCRIPT is a JSON file with a list of turns. A turn is one answer of the model:
//   {"say": TEXT}                       the end of its work
//   {"write": PATH, "content": TEXT}    writes a file with the agent's own tool
//   {"shell": COMMAND}                  runs a command with the agent's own tool
//   {"status": CODE}                    refuses the request, and every later one at this turn
// Which turn it is follows from the conversation, so a resumed session goes on where it was.
// Every answer counts 1000 tokens read, 200 of them from the cache, and 50 written.
//
// Claude Code speaks Anthropic's Messages, Codex OpenAI's Responses; both always stream.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const turns = () => JSON.parse(readFileSync(process.argv[2], "utf8"));
let made = 0;
const id = (kind) => `${kind}_${(made += 1)}`;

// ---- Anthropic's Messages
const messages = {
  turn: ({ messages }) => messages.filter((message) => message.role === "assistant").length,
  refusal: (code) => ({ type: "error", error: { type: code === 429 ? "rate_limit_error" : "api_error", message: "scripted" } }),
  *answer(request, turn) {
    const usage = { input_tokens: 800, cache_read_input_tokens: 200, cache_creation_input_tokens: 0, output_tokens: 1 };
    const call = turn.write ? ["Write", { file_path: turn.write, content: turn.content }]
      : turn.shell ? ["Bash", { command: turn.shell, description: "scripted" }] : undefined;
    const block = call ? { type: "tool_use", id: id("toolu"), name: call[0], input: {} } : { type: "text", text: "" };
    const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(call[1]) } : { type: "text_delta", text: turn.say };
    const message = { id: id("msg"), type: "message", role: "assistant", model: request.model, content: [], stop_reason: null, stop_sequence: null, usage };
    yield { type: "message_start", message };
    yield { type: "content_block_start", index: 0, content_block: block };
    yield { type: "content_block_delta", index: 0, delta };
    yield { type: "content_block_stop", index: 0 };
    yield { type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 50 } };
    yield { type: "message_stop" };
  },
};

// ---- OpenAI's Responses
const responses = {
  turn: ({ input }) => input.filter((item) => item.role === "assistant" || /_call$/.test(item.type ?? "")).length,
  refusal: (code) => ({ error: { message: "scripted", type: "scripted", code: String(code) } }),
  *answer(request, turn) {
    const call_id = id("call");
    const lines = (turn.content ?? "").replace(/\n$/, "").split("\n").map((line) => `+${line}`);
    const patch = ["*** Begin Patch", `*** Add File: ${turn.write}`, ...lines, "*** End Patch", ""].join("\n");
    const item = turn.write ? { type: "custom_tool_call", id: id("ctc"), call_id, status: "completed", name: "apply_patch", input: patch }
      : turn.shell ? { type: "function_call", id: id("fc"), call_id, status: "completed", name: "exec_command", arguments: JSON.stringify({ cmd: turn.shell }) }
      : { type: "message", id: id("msg"), role: "assistant", status: "completed", content: [{ type: "output_text", text: turn.say, annotations: [] }] };
    const usage = { input_tokens: 1000, input_tokens_details: { cached_tokens: 200 }, output_tokens: 50, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 1050 };
    const response = { id: id("resp"), object: "response", created_at: 1, model: request.model };
    yield { type: "response.created", response: { ...response, status: "in_progress", output: [] } };
    yield { type: "response.output_item.added", output_index: 0, item };
    yield { type: "response.output_item.done", output_index: 0, item };
    yield { type: "response.completed", response: { ...response, status: "completed", output: [item], usage } };
  },
};

const server = createServer((request, reply) => {
  let text = "";
  request.on("data", (piece) => (text += piece));
  request.on("end", () => {
    const path = request.url.split("?")[0];
    const api = path.endsWith("/messages") ? messages : path.endsWith("/responses") ? responses : undefined;
    if (request.method !== "POST" || !api) {
      reply.writeHead(path === "/" ? 200 : 404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const asked = JSON.parse(text);
    const script = turns();
    // Titles and summaries are asked for without tools; they are no turn.
    const turn = asked.tools?.length ? script[Math.min(api.turn(asked), script.length - 1)] : { say: "ok" };
    if (turn.status) {
      reply.writeHead(turn.status, { "content-type": "application/json" }).end(JSON.stringify(api.refusal(turn.status)));
      return;
    }
    reply.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.answer(asked, turn)) reply.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    reply.end();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
