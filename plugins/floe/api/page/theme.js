// Light or dark: as the Airflow page around this one is, and follows it; by itself, as the browser prefers.
(() => {
  const asked = matchMedia("(prefers-color-scheme: dark)");

  function outer() {
    try {
      return window.parent === window ? null : window.parent.document.documentElement;
    } catch {
      return null; // a page of another origin
    }
  }

  function show() {
    const around = outer();
    const named = around && ["dark", "light"].find((name) => around.classList.contains(name) || around.dataset.theme === name);
    document.documentElement.dataset.theme = named || (asked.matches ? "dark" : "light");
  }

  show();
  asked.addEventListener("change", show);
  const around = outer();
  if (around) {
    new MutationObserver(show).observe(around, { attributes: true, attributeFilter: ["class", "data-theme", "style"] });
  }
})();
