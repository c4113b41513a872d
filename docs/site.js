// What the theme leaves out for keyboards and screen readers: wide tables that scroll can be focused, the buttons of
// each block of code have a name of their own, and an empty corner of a table is no heading.
new MutationObserver(() => {
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((box) => { box.tabIndex = 0; });
  document.querySelectorAll(".md-code__nav").forEach((nav, at) => nav.setAttribute("aria-label", `Code block ${at + 1}`));
  document.querySelectorAll(".md-typeset th:empty").forEach((corner) => corner.replaceWith(document.createElement("td")));
}).observe(document.body, { childList: true, subtree: true });
