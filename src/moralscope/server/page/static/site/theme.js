// Before anything is painted: the light or dark that was chosen here, else the system's.
try {
  const chosen = localStorage.getItem("moralscope.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is off: the system's */ }
