// Talks to `muisti serve` from Node or a browser: node examples/rest.mjs [http://127.0.0.1:8765]
const at = (typeof process !== "undefined" && process.argv[2]) || "http://127.0.0.1:8765";

async function ask(method, path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  const answer = await fetch(at + path, { method, headers, body: body && JSON.stringify(body) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(`${told.title}: ${told.detail}`);
  return told;
}

const saved = await ask("POST", "/api/memories", { content: "Deploys are on Fridays", kind: "fact" });
const found = await ask("GET", "/api/search?query=" + encodeURIComponent("when do we deploy?"));
console.log(saved.id, found.results[0].memory.content);
