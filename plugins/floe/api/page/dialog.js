// A dialog that says what will happen, does it when asked, and shows what came of it.

import { button, el, notice } from "./dom.js";

/**
 * Open a dialog. `body`: elements. `confirm`: the button's text. `act()`: does it, and returns elements to show instead of
 * closing, or null. `ready()`: whether it may be done. Returns `{update, closed}`.
 */
export function openDialog(title, { body, confirm, act, ready = () => true, wide = false }) {
  const trouble = el("div", { role: "alert" });
  const doIt = button(confirm, run, { class: "main" });
  const cancel = button("Cancel", () => dialog.close());
  const content = el("div", { class: "dialog-body" }, body);
  const dialog = el(
    "dialog",
    { "aria-labelledby": "dialog-title", class: wide && "wide" },
    el("h2", { id: "dialog-title" }, title),
    content,
    trouble,
    el("div", { class: "actions end" }, cancel, doIt),
  );
  const state = { isOpen: true };
  const opener = document.activeElement;

  const update = () => (doIt.disabled = !ready());

  async function run() {
    trouble.replaceChildren();
    doIt.disabled = true;
    let shown;
    try {
      shown = await act();
    } catch (problem) {
      trouble.replaceChildren(notice("bad", el("p", {}, `That did not work. ${problem?.message ?? problem}`)));
      update();
      return;
    }
    if (!shown) return dialog.close();
    content.replaceChildren(...[shown].flat());
    doIt.remove();
    cancel.textContent = "Close";
    cancel.focus();
  }

  dialog.addEventListener("close", () => {
    state.isOpen = false;
    dialog.remove();
    // what opened it may have been drawn again meanwhile
    const again = opener.isConnected ? opener : document.getElementById(opener.id);
    (again ?? document.getElementById("main")).focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  update();
  return { update, isOpen: () => state.isOpen };
}
