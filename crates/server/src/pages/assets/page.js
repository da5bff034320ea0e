"use strict";
// What the pages do beyond links and forms. Every page reads and decides without this script.
(() => {
  const main = document.getElementById("content");
  const notice = document.getElementById("notice");

  // The live parts of the page as the server sent them, before this script changes their times.
  const sent = new Map();
  const partsOf = (root) => [...root.querySelectorAll("[data-part]")];

  // A part without the texts of its times: "2 min ago" changes by itself, and is no news.
  const contentOf = (part) => {
    const copy = part.cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.textContent = "";
    return copy.outerHTML;
  };

  // --- Times: the viewer's zone in the text, UTC on hover. ---

  const UNITS = [[172800, 86400, "day"], [60, 60, "minute"]];
  const moments = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "2-digit", day: "2-digit",
    hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
  });
  const timesOfDay = new Intl.DateTimeFormat(undefined, {
    hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  });
  const distances = new Intl.RelativeTimeFormat("en", { numeric: "always" });

  const distance = (seconds) => {
    const size = Math.abs(seconds);
    if (size < 5) return "just now";
    if (size >= 5400 && size < 172800) {
      const minutes = Math.trunc(size / 60);
      const text = `${Math.trunc(minutes / 60)} h ${minutes % 60} min`;
      return seconds > 0 ? `in ${text}` : `${text} ago`;
    }
    const found = UNITS.find(([from]) => size >= from);
    if (!found) return distances.format(Math.trunc(seconds), "second");
    return distances.format(Math.trunc(seconds / found[1]), found[2]);
  };

  const showTimes = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      if ("relative" in time.dataset) {
        time.textContent = distance((at - Date.now()) / 1000);
        const utc = at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
        time.title = `${moments.format(at)} (${utc})`;
      } else if ("time" in time.dataset) {
        // A time of day in a list; the title has the date, first in UTC.
        if (!time.dataset.shown) time.title = `${moments.format(at)} (${time.title})`;
        time.dataset.shown = "yes";
        time.textContent = `${timesOfDay.format(at)}.${time.dateTime.slice(20, 23)}`;
      } else if (!time.title) {
        time.title = time.textContent;
        time.textContent = moments.format(at);
      }
    }
  };
  const remember = (root) => {
    for (const part of partsOf(root)) sent.set(part.id, contentOf(part));
  };
  remember(document);
  showTimes(document);
  setInterval(() => showTimes(document), 15000);

  // --- Live pages: fetch the page again after a change, and replace its parts. ---

  const parser = new DOMParser();

  const isEdited = (part) => {
    for (const field of part.querySelectorAll("input, textarea, select")) {
      if (field.type === "hidden") continue;
      if (field.type === "checkbox" || field.type === "radio") {
        if (field.checked !== field.defaultChecked) return true;
      } else if (field.tagName === "SELECT") {
        const first = [...field.options].findIndex((it) => it.defaultSelected);
        if (field.selectedIndex !== Math.max(first, 0)) return true;
      } else if (field.value !== field.defaultValue) return true;
    }
    return false;
  };

  const replace = (part, fresh) => {
    const active = document.activeElement;
    const focused = part.contains(active) ? active.id || active.getAttribute("href") : null;
    const open = [...part.querySelectorAll("details[open][id]")].map((it) => it.id);
    part.replaceWith(fresh);
    showTimes(fresh);
    for (const id of open) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    if (focused) {
      const again = [...fresh.querySelectorAll("a[href], button, input, textarea, summary")];
      const found = again.find((it) => it.id === focused || it.getAttribute("href") === focused);
      if (found) found.focus({ preventScroll: true });
    }
  };

  // A list has a part for each of its members, which come, go and change their places.
  const arrange = (list, fresh) => {
    const wanted = [...fresh.children];
    const ids = new Set(wanted.map((it) => it.id));
    for (const member of [...list.children]) if (!ids.has(member.id)) member.remove();
    let place = list.firstElementChild;
    for (const next of wanted) {
      const known = document.getElementById(next.id);
      if (known && known === place) {
        place = place.nextElementSibling;
        continue;
      }
      const member = known || document.importNode(next, true);
      list.insertBefore(member, place);
      if (known) continue;
      sent.set(member.id, contentOf(next));
      showTimes(member);
    }
  };

  // Shows the page that was fetched. Returns true if a part is kept as it was.
  const showFresh = (text) => {
    const fresh = parser.parseFromString(text, "text/html");
    document.title = fresh.title;
    for (const list of document.querySelectorAll("[data-list]")) {
      const next = fresh.getElementById(list.id);
      if (next) arrange(list, next);
    }
    const now = new Map(partsOf(fresh).map((it) => [it.id, it]));
    let isHeld = false;
    for (const part of partsOf(document)) {
      const next = now.get(part.id);
      if (!next) continue;
      const content = contentOf(next);
      if (sent.get(part.id) === content) continue;
      // What the person is typing is kept, unless the part can be of no use any more.
      if (isEdited(part) && next.dataset.state === part.dataset.state) {
        isHeld = true;
        continue;
      }
      sent.set(part.id, content);
      replace(part, document.importNode(next, true));
    }
    const live = fresh.getElementById("content");
    if (live && live.dataset.live) main.dataset.live = live.dataset.live;
    return isHeld;
  };

  const tell = (text) => {
    if (notice.textContent !== text) notice.textContent = text;
  };

  let isOver = false;
  let fetching = false;
  let again = false;
  const refresh = async () => {
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    try {
      do {
        again = false;
        const headers = { Accept: "text/html" };
        const response = await fetch(location.href, { headers, credentials: "same-origin" });
        if (response.status === 401) {
          tell("You are logged out. Load the page again to log in.");
          isOver = true;
          close();
          return;
        }
        const isHeld = response.ok && showFresh(await response.text());
        tell(isHeld ? "The part in which you type has changed. Load the page again to see how." : "");
      } while (again);
    } catch {
      tell("The service does not answer. What you see may be old.");
    } finally {
      fetching = false;
    }
  };

  // A browser has few connections for all tabs, so only a visible tab keeps a stream.
  const RETRY_MS = 5000;
  const HIDDEN_MS = 30000;
  let stream = null;
  let timer = null;
  const close = () => {
    if (stream) stream.close();
    stream = null;
    clearTimeout(timer);
  };
  const open = () => {
    close();
    if (isOver) return;
    if (document.hidden) {
      timer = setTimeout(async () => { await refresh(); open(); }, HIDDEN_MS);
      return;
    }
    stream = new EventSource(main.dataset.live);
    stream.addEventListener("changed", refresh);
    const reopen = () => {
      close();
      timer = setTimeout(async () => { await refresh(); open(); }, RETRY_MS);
    };
    stream.addEventListener("end", reopen);
    // Such as the end of the login, which the fetched page tells at once.
    stream.addEventListener("problem", async () => {
      close();
      await refresh();
      if (!isOver) timer = setTimeout(open, RETRY_MS);
    });
    stream.addEventListener("error", reopen);
  };
  if (main && main.dataset.live) {
    open();
    document.addEventListener("visibilitychange", async () => {
      if (!document.hidden) await refresh();
      open();
    });
  }

  // --- Keys: they move the focus, and never decide by themselves. ---

  const rows = () => [...document.querySelectorAll(".row .what")];
  const step = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
    all[Math.min(Math.max(next, 0), all.length - 1)].focus();
  };
  const unfold = (id, field) => {
    const details = document.getElementById(id);
    if (!details) return;
    details.open = true;
    const first = document.getElementById(field);
    if (first) first.focus();
  };
  const KEYS = {
    j: () => step(1),
    k: () => step(-1),
    a: () => document.getElementById("approve")?.focus(),
    d: () => unfold("denying", "reason"),
    e: () => document.getElementById("edit")?.focus(),
    i: () => { location.href = document.querySelector("header nav a")?.href ?? location.href; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // --- Checks: the progress of a stream that a form starts, then its result. ---

  const visible = (text) =>
    text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

  // Calls `told` with each message of a stream of events.
  const messages = async (response, told) => {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const field = (name) => part.split("\n").filter((it) => it.startsWith(`${name}: `))
          .map((it) => it.slice(name.length + 2)).join("\n");
        told(field("event"), field("data"));
      }
    }
  };

  const resultOf = (report) => {
    const problem = report.problem || report.diverged;
    if (problem) {
      const text = problem.text ? `: ${visible(problem.text)}` : "";
      const word = report.problem ? "Damaged" : "Diverged";
      return ["bad", `${word} at record ${problem.seq}${text}.`];
    }
    if ("verdict" in report) {
      const words = "Consistent, not anchored: every hash holds";
      return ["good", `${words}, in ${report.records} records.`];
    }
    return ["good", `The same decisions: ${report.decisions} made again.`];
  };

  // Runs one check. Returns its report, or null if the viewer may not read the session.
  const run = async (path, form, told) => {
    const csrf = form.querySelector('input[name="csrf"]');
    const headers = { Accept: "text/event-stream" };
    if (csrf) headers["X-Recount-Csrf"] = csrf.value;
    const response = await fetch(path, { method: "POST", headers, credentials: "same-origin" });
    if (response.status === 403 || response.status === 404) return null;
    if (!response.ok) throw new Error(`status ${response.status}`);
    let report = null;
    await messages(response, (event, data) => {
      const body = JSON.parse(data);
      if (event === "progress") told(body);
      if (event === "report") report = body;
      if (event === "problem") report = { problem: { seq: "?", text: body.detail || "" } };
    });
    if (!report) throw new Error("the stream has ended without a report");
    return report;
  };

  const checked = async (form, output, work) => {
    const button = form.querySelector("button");
    button.disabled = true;
    output.className = "banner";
    output.textContent = "Reading …";
    try {
      await work();
    } catch (error) {
      output.className = "banner bad";
      output.textContent = `The check has failed: ${error.message}.`;
    } finally {
      button.disabled = false;
    }
  };

  const check = (path, form, output) => checked(form, output, async () => {
    const told = ({ records, of }) => { output.textContent = `${records} of ${of} records`; };
    const report = await run(path, form, told);
    if (!report) throw new Error("you may not read this session");
    const [mood, text] = resultOf(report);
    output.className = `banner ${mood}`;
    output.textContent = text;
  });

  const checkAll = (kind, sessions, form, output) => checked(form, output, async () => {
    const bad = document.createElement("ul");
    let [done, cursor] = [0, ""];
    do {
      const page = await fetch(`${sessions}?limit=200${cursor && `&cursor=${cursor}`}`);
      if (!page.ok) throw new Error(`status ${page.status}`);
      const { items, next } = await page.json();
      for (const { session } of items) {
        const report = await run(`${sessions}/${session}/${kind}`, form, () => {});
        if (!report) continue;
        done += 1;
        output.textContent = `${done} sessions checked`;
        const [mood, text] = resultOf(report);
        if (mood === "good") continue;
        const link = document.createElement("a");
        link.href = `${sessions.replace(/v1\/sessions$/, "sessions")}/${session}`;
        link.textContent = session;
        const line = document.createElement("li");
        line.append(link, `: ${text}`);
        bad.append(line);
      }
      cursor = next || "";
    } while (cursor);
    const problems = bad.children.length;
    output.className = `banner ${problems ? "bad" : "good"}`;
    const verified = "Consistent, not anchored: every hash holds";
    const words = kind === "verify" ? verified : "The same decisions";
    output.textContent = problems
      ? `${problems} of ${done} sessions with a problem.`
      : `${words}, in ${done} sessions.`;
    if (problems) output.append(bad);
  });

  const output = document.getElementById("check-result");
  for (const box of document.querySelectorAll("[data-check], [data-check-all]")) {
    const form = box.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { check: one, checkAll: all, sessions } = box.dataset;
      if (all) checkAll(all, sessions, form, output);
      else check(one, form, output);
    });
  }
})();
