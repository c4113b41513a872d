// Conversations as they are pasted: JSON or JSONL of messages, or lines that begin with a speaker.
import { Trouble } from "/static/site/core.js";

const SPEAKER = /^\s*(system|user|human|person|customer|assistant|chatbot|bot|ai|tool)\s*:\s*/i;
const ROLES = { system: "system", assistant: "assistant", chatbot: "assistant", bot: "assistant", ai: "assistant", tool: "tool" };

function parsed(text) {
  try { return [JSON.parse(text)]; } catch { /* perhaps one value per line */ }
  return text.split("\n").filter((line) => line.trim()).map((line, at) => {
    try { return JSON.parse(line); } catch { throw new Trouble(`Line ${at + 1} isn’t JSON. Paste messages as JSON or JSONL, or lines that begin with “User:” and “Assistant:”.`, 422); }
  });
}

function spoken(text) {
  const messages = [];
  for (const line of text.split("\n")) {
    const speaker = SPEAKER.exec(line);
    if (speaker) messages.push({ role: ROLES[speaker[1].toLowerCase()] ?? "user", content: line.slice(speaker[0].length) });
    else if (messages.length) messages.at(-1).content += `\n${line}`;
    else if (line.trim()) throw new Trouble("Begin each turn with its speaker: “User:”, “Assistant:” or “Tool:”.", 422);
  }
  return [{ messages: messages.map((each) => ({ ...each, content: each.content.trim() })) }];
}

// Returns mappings with `messages`, as the server reads them; it says what is wrong inside.
export function readConversations(text) {
  const isMessage = (value) => Boolean(value && typeof value === "object" && !Array.isArray(value) && ("role" in value || "from" in value || String(value.type ?? "").startsWith("function")));
  if (!/^\s*[[{]/.test(text)) return spoken(text);
  let values = parsed(text);
  if (values.length === 1 && Array.isArray(values[0]) && !values[0].every(isMessage)) [values] = values;
  if (!values.flat().length) throw new Trouble("There are no messages in it.", 422);
  return values.every(isMessage) ? [{ messages: values }] : values.map((each) => (Array.isArray(each) ? { messages: each } : each));
}
