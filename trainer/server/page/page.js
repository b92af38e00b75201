// Speaks a text by /v1/audio/sentences: each line of the answer is a sentence with its sound and its pictures.
"use strict";

const byId = (id) => document.getElementById(id);
const COLOURS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];  // of viridis
const WAV_HEADER_BYTES = 44;
let spoken = [];  // sentences of the current text: { bytes, url, item }
let next = 0;     // the sentence to play after the current one
let current = null;  // controller of the running request

function headers(more = {}) {
  const key = sessionStorage.getItem("key");
  return key ? { ...more, Authorization: `Bearer ${key}` } : more;
}

async function call(path, options = {}) {
  const response = await fetch(path, { ...options, headers: headers(options.headers) });
  if (response.status === 401) { byId("access").hidden = false; byId("access").open = true; }
  if (!response.ok) {
    const body = await response.json().catch(() => null);
    throw new Error(body && body.error ? body.error.message : `${response.status} ${response.statusText}`);
  }
  return response;
}

function say(text) { byId("message").textContent = text; }

function option(value, text) { const one = document.createElement("option"); one.value = value; one.textContent = text; return one; }

async function loadVoices(chosen) {
  const { data } = await (await call("v1/audio/voices")).json();
  const select = byId("voice"), before = chosen || select.value;
  select.replaceChildren(...data.map(({ id, duration_s }) => option(id, duration_s ? `${id} (${duration_s} s)` : id)));
  if (data.some(({ id }) => id === before)) select.value = before;
  if (!data.length) byId("voices").open = true;
}

async function load() {
  const health = await (await call("health")).json();
  byId("model").textContent = `${health.model}, step ${health.step}`;
  byId("language").replaceChildren(...health.languages.map((code) => option(code, code)));
  await loadVoices();
}

function decoded(base64) { return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)); }

function colour(value) {
  const place = value / 255 * (COLOURS.length - 1), low = Math.min(Math.floor(place), COLOURS.length - 2), share = place - low;
  return COLOURS[low].map((one, index) => Math.round(one + share * (COLOURS[low + 1][index] - one)));
}

function picture({ columns, rows, values }, caption) {
  const figure = document.createElement("figure"), canvas = document.createElement("canvas"), words = document.createElement("figcaption");
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", caption);
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height), data = decoded(values);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const place = 4 * ((rows - 1 - row) * columns + column);
      image.data.set([...colour(data[row * columns + column]), 255], place);
    }
  }
  context.putImageData(image, 0, 0);
  words.textContent = caption;
  figure.append(canvas, words);
  return figure;
}

function play(index) {
  const player = byId("player"), one = spoken[index];
  if (!one) return;
  spoken.forEach(({ item }, place) => item.classList.toggle("playing", place === index));
  next = index + 1;
  player.src = one.url;
  player.play().catch(() => {});  // a browser may wait for a gesture
}

function addSentence(line) {
  const bytes = decoded(line.audio), item = document.createElement("li"), text = document.createElement("p"), button = document.createElement("button");
  const url = URL.createObjectURL(new Blob([bytes], { type: "audio/wav" })), index = spoken.length;
  button.type = "button";
  button.textContent = "▶";
  button.setAttribute("aria-label", `Play sentence ${index + 1}`);
  button.addEventListener("click", () => play(index));
  text.className = "text";
  text.append(button, ` ${line.text}`);
  item.append(text);
  if (line.problems.length) {
    const warning = document.createElement("p");
    warning.className = "warning";
    warning.textContent = `This may not be what the text says: ${line.problems.join("; ")}.`;
    item.append(warning);
  }
  const pictures = document.createElement("div");
  pictures.className = "pictures";
  pictures.append(picture(line.mel, "Mel: time to the right, bands upwards"), picture(line.alignment, "Attention: time to the right, text upwards"));
  item.append(pictures);
  byId("sentences").append(item);
  spoken.push({ bytes, url, item });
  const player = byId("player");
  if (index === 0 || (player.ended && next === index)) play(index);
}

function offerDownload() {
  const parts = spoken.map(({ bytes }) => bytes.subarray(WAV_HEADER_BYTES));
  const size = parts.reduce((sum, part) => sum + part.length, 0), header = spoken[0].bytes.slice(0, WAV_HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint32(4, size + WAV_HEADER_BYTES - 8, true);
  view.setUint32(WAV_HEADER_BYTES - 4, size, true);
  const link = byId("download");
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([header, ...parts], { type: "audio/wav" }));
  link.hidden = false;
}

async function readLines(response, use) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) use(JSON.parse(line));
  }
}

function clear() {
  spoken.forEach(({ url }) => URL.revokeObjectURL(url));
  spoken = [];
  next = 0;
  byId("sentences").replaceChildren();
  byId("download").hidden = true;
  byId("figures").textContent = "";
}

async function speak(event) {
  event.preventDefault();
  say("");
  clear();
  current = new AbortController();
  byId("go").disabled = true;
  byId("stop").disabled = false;
  const started = performance.now();
  let first = 0, seconds = 0;
  const body = {
    input: byId("text").value, voice: byId("voice").value, language: byId("language").value,
    speed: Number(byId("speed").value), temperature: Number(byId("temperature").value), seed: Number(byId("seed").value),
  };
  try {
    const response = await call("v1/audio/sentences", { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal: current.signal });
    byId("result").hidden = false;
    await readLines(response, (line) => {
      first = first || performance.now() - started;
      seconds += line.duration_s;
      addSentence(line);
      const taken = performance.now() - started;
      byId("figures").textContent = `${spoken.length} of ${line.total} sentences, ${seconds.toFixed(1)} s of speech; first after ${(first / 1000).toFixed(2)} s, real-time factor ${(taken / 1000 / seconds).toFixed(2)}`;
    });
  } catch (error) {
    if (error.name !== "AbortError") say(error.message);
  } finally {
    if (spoken.length) offerDownload();
    byId("go").disabled = false;
    byId("stop").disabled = true;
  }
}

async function upload(event) {
  event.preventDefault();
  say("");
  const form = new FormData();
  form.append("name", byId("name").value);
  for (const file of byId("clips").files) form.append("clips", file);
  try {
    const voice = await (await call("v1/audio/voices", { method: "POST", body: form })).json();
    await loadVoices(voice.id);
    event.target.reset();
  } catch (error) { say(error.message); }
}

async function remove() {
  say("");
  try {
    await call(`v1/audio/voices/${encodeURIComponent(byId("voice").value)}`, { method: "DELETE" });
    await loadVoices();
  } catch (error) { say(error.message); }
}

byId("speak").addEventListener("submit", speak);
byId("stop").addEventListener("click", () => { if (current) current.abort(); byId("player").pause(); });
byId("upload").addEventListener("submit", upload);
byId("delete").addEventListener("click", remove);
byId("unlock").addEventListener("submit", (event) => { event.preventDefault(); sessionStorage.setItem("key", byId("key").value); load().then(() => say(""), (error) => say(error.message)); });
byId("player").addEventListener("ended", () => play(next));
load().catch((error) => say(error.message));
