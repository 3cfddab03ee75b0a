// Use `muisti serve` from Node or a browser: node examples/rest.mjs [http://127.0.0.1:8765]
const server = (typeof process !== "undefined" && process.argv[2]) || "http://127.0.0.1:8765";

async function send(method, path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  const response = await fetch(server + path, { method, headers, body: body && JSON.stringify(body) });
  const result = await response.json();
  if (!response.ok) throw new Error(`${result.title}: ${result.detail}`);
  return result;
}

const saved = await send("POST", "/api/memories", { content: "Deploys are on Fridays", kind: "fact" });
const found = await send("GET", "/api/search?query=" + encodeURIComponent("when do we deploy?"));
console.log(saved.id, found.results[0].memory.content);
