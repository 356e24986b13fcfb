"use strict";
// Comfort only: every page works without this file.
(() => {
  const places = { h: "", c: "/cycles", a: "/approvals", g: "/genomes", p: "/playground" };
  let leader = 0;

  const isTyping = (target) => target.closest("input, textarea, select, dialog");

  const step = (by) => {
    const rows = [...document.querySelectorAll("[data-row]")];
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    rows[Math.min(Math.max(at + by, 0), rows.length - 1)].focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const form = event.target.closest("form[data-quick]");
      if (form) form.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "?") {
      const dialog = document.getElementById("keys");
      if (dialog) dialog.showModal();
    } else if (Date.now() - leader < 1200 && event.key in places) {
      leader = 0;
      location.href = "/admin" + places[event.key];
    } else if (event.key === "g") {
      leader = Date.now();
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    }
  });

  // A long answer: say so after 300 ms, and do not send the form twice.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "dialog") return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => {
      if (event.submitter) event.submitter.setAttribute("aria-busy", "true");
    }, 300);
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  const stale = (isStale) => {
    const note = document.getElementById("stale");
    if (note) note.hidden = !isStale;
  };
  document.addEventListener("htmx:error", () => stale(true));
  document.addEventListener("htmx:response:error", () => stale(true));
  document.addEventListener("htmx:after:request", (event) => {
    const status = event.detail?.ctx?.response?.raw?.status;
    if (status && status < 400) stale(false);
  });
})();
