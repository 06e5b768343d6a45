// New messages are put on top of the list; nothing else changes, so focus and scrolling stay.
"use strict";

const list = document.getElementById("letters");
const news = document.getElementById("news");

async function look() {
  const answer = await fetch("/", { cache: "no-store" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const known = new Set([...list.children].map((item) => item.dataset.id));
  const fresh = [...page.querySelectorAll("#letters > li")].filter((item) => !known.has(item.dataset.id));
  if (fresh.length === 0) return;
  list.prepend(...fresh);
  document.querySelector(".empty")?.remove();
  news.textContent = fresh.length === 1 ? "1 new message" : `${fresh.length} new messages`;
}

setInterval(() => {
  if (!document.hidden) look().catch(() => {});
}, 1500);
