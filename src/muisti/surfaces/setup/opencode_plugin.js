// Written by `muisti install opencode`, which updates it; `muisti uninstall opencode` removes it.
// Recalls memories with each prompt and saves what was said. It never disturbs OpenCode: whatever
// fails is left out, and `muisti doctor` reports it.
import { spawn, spawnSync } from "node:child_process";

const COMMAND = ["muisti", "hook"];
const OPTIONS = ["--agent", "opencode"];
const TIMEOUT = 10_000;

const read = (output) => {
  try {
    return JSON.parse(output).hookSpecificOutput.additionalContext ?? "";
  } catch {
    return "";
  }
};

const line = (event) => [...COMMAND.slice(1), event, ...OPTIONS];

/** Runs a hook and resolves to the context that it replies, or to "". */
const ask = (event, message) =>
  new Promise((resolve) => {
    let output = "";
    try {
      const hook = spawn(COMMAND[0], line(event), { stdio: ["pipe", "pipe", "ignore"] });
      const timer = setTimeout(() => hook.kill(), TIMEOUT);
      const end = (context) => {
        clearTimeout(timer);
        resolve(context);
      };
      hook.on("error", () => end(""));
      hook.on("close", () => end(read(output)));
      hook.stdout.on("data", (data) => (output += data));
      hook.stdin.on("error", () => {});
      hook.stdin.end(JSON.stringify(message));
    } catch {
      resolve("");
    }
  });

/** Runs a hook to its end: OpenCode may exit right after a turn. */
const tell = (event, message) => {
  try {
    spawnSync(COMMAND[0], line(event), { input: JSON.stringify(message), stdio: ["pipe", "ignore", "ignore"], timeout: TIMEOUT });
  } catch {}
};

export const Muisti = async ({ directory }) => {
  const created = new Set(); // sessions that began in this process
  const children = new Set(); // sessions of agents that an agent started
  const started = new Set(); // sessions that got the context of the project
  const spoken = new Map(); // the agent's messages of the current turn, by session
  const replies = new Map(); // the latest text of the agent, by session
  const message = (session, fields) => ({ session_id: session, cwd: directory, ...fields });

  const handlers = {
    "session.created": ({ info }) => {
      created.add(info.id);
      if (info.parentID) children.add(info.id);
    },
    "session.compacted": ({ sessionID }) => {
      started.delete(sessionID);
    },
    "session.deleted": ({ info }) => {
      if (!children.has(info.id)) tell("SessionEnd", message(info.id, { reason: "deleted" }));
    },
    "message.updated": ({ info }) => {
      if (info.role !== "assistant") return;
      if (!spoken.has(info.sessionID)) spoken.set(info.sessionID, new Set());
      spoken.get(info.sessionID).add(info.id);
    },
    "message.part.updated": ({ part }) => {
      if (part.type === "text" && !part.synthetic && spoken.get(part.sessionID)?.has(part.messageID))
        replies.set(part.sessionID, part.text);
    },
    "session.idle": ({ sessionID }) => {
      const reply = replies.get(sessionID);
      replies.delete(sessionID);
      spoken.delete(sessionID);
      if (reply && !children.has(sessionID))
        tell("Stop", message(sessionID, { last_assistant_message: reply }));
    },
  };

  return {
    event: async ({ event }) => {
      try {
        handlers[event.type]?.(event.properties);
      } catch {}
    },
    "chat.message": async ({ sessionID }, { message: said, parts }) => {
      try {
        if (children.has(sessionID)) return;
        const texts = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text);
        const found = [];
        if (!started.has(sessionID)) {
          started.add(sessionID);
          const source = created.has(sessionID) ? "startup" : "resume";
          found.push(await ask("SessionStart", message(sessionID, { source })));
        }
        found.push(await ask("UserPromptSubmit", message(sessionID, { prompt: texts.join("\n") })));
        const text = found.filter(Boolean).join("\n");
        const id = `prt_muisti${Date.now()}`;
        if (text) parts.push({ id, sessionID, messageID: said.id, type: "text", text, synthetic: true });
      } catch {}
    },
    "tool.execute.after": async ({ sessionID }) => {
      if (!children.has(sessionID)) await ask("PostToolUse", message(sessionID, {}));
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await ask("PreCompact", message(sessionID, {}));
    },
  };
};
