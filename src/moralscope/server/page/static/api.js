// Talks to the server. Every failure becomes an Error with a sentence for people and a `status`.

const csrf = document.querySelector("meta[name=csrf]")?.content ?? "";

export class Trouble extends Error {
  constructor(message, status, fields = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

export async function send(method, address, body, options = {}) {
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const more = { method, headers, body: body === undefined ? undefined : JSON.stringify(body), ...options };
  let response;
  try {
    response = await fetch(address, { signal: AbortSignal.timeout(20000), credentials: "same-origin", ...more });
  } catch {
    throw new Trouble("The server cannot be reached.", 0);
  }
  let answer = {};
  try {
    answer = await response.json();
  } catch {
    if (response.ok) throw new Trouble("Couldn’t read the server’s answer.", response.status);
  }
  if (!response.ok) {
    const words = [answer.detail || `The server answered ${response.status}`, answer.remedy, ...Object.values(answer.fields ?? {})];
    const said = words.filter(Boolean).join("; ");
    throw new Trouble(said[0].toUpperCase() + said.slice(1) + ".", response.status, answer.fields);
  }
  return answer;
}

export function tell(text) {
  document.getElementById("told").textContent = text;
}

export function trouble(text) {
  const box = document.getElementById("trouble");
  box.hidden = !text;
  box.textContent = text;
  if (text) box.scrollIntoView({ block: "nearest" });
}

export function go(address) {
  if (address === location.pathname) location.reload();
  else location.assign(address);
}

// A name that nobody else has; randomUUID is missing where a team server has no HTTPS.
export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
