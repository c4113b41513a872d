// From the form to an answer and back. A question that was not answered is not in the answer.

export function readForm(form) {
  const answer = {};
  for (const field of form.querySelectorAll("[data-field]")) {
    const value = read(field);
    if (value !== undefined) answer[field.dataset.field] = value;
  }
  return answer;
}

function read(field) {
  const { reads } = field.dataset; // what a value is made of: annotation/questions.py
  if (reads === "line" || reads === "text") {
    const text = field.querySelector("textarea").value;
    return (reads === "line" ? text.replace(/\s*\n\s*/g, " ") : text) || undefined;
  }
  const checked = [...field.querySelectorAll("input:checked")].map((input) => input.value);
  if (!checked.length) return undefined;
  if (reads === "list") return checked.filter(Boolean);
  if (reads === "number") return Number(checked[0]);
  if (reads === "flag") return checked[0] === "true";
  return checked[0];
}

export function writeForm(form, answer) {
  for (const field of form.querySelectorAll("[data-field]")) {
    const value = answer[field.dataset.field];
    const textarea = field.querySelector("textarea");
    if (textarea) {
      textarea.value = value ?? "";
      continue;
    }
    const wanted = Array.isArray(value) ? (value.length ? value : [""]) : [String(value)];
    for (const input of field.querySelectorAll("input")) input.checked = wanted.includes(input.value);
  }
}

// Fields that were changed before the script had come, which nobody has heard of yet.
export function early(form) {
  return [...form.querySelectorAll("[data-field]")].filter((field) =>
    [...field.querySelectorAll("textarea, input")].some((input) =>
      input.type === "textarea" ? input.value !== input.defaultValue : input.checked !== input.defaultChecked));
}

// "None of these" and the others exclude each other.
document.addEventListener("change", (event) => {
  const field = event.target.closest("[data-reads=list]");
  if (!field || !event.target.checked) return;
  const none = "none" in event.target.dataset;
  for (const input of field.querySelectorAll("input")) {
    if (input !== event.target && (none || "none" in input.dataset)) input.checked = false;
  }
}, true);

// A text of one line has room for more, but Enter does not break it.
document.addEventListener("keydown", (event) => {
  const one = event.target.closest("[data-reads=line]");
  if (one && event.key === "Enter" && !event.ctrlKey && !event.metaKey) event.preventDefault();
});
