// The JSON API of a page. Every failure is a Trouble; its kind says what can be done about it.

const PATIENCE = 20_000; // milliseconds before a request counts as lost
const LONG_PATIENCE = 120_000; // of a file, over a slow line

/**
 * kind: "network" (try again later), "session" (open the link again), "refused" (by the server), "answer" (its
 * response was not understood).
 */
export class Trouble extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** The API of one study. */
export const connect = (study) => connectTo(`/api/studies/${encodeURIComponent(study)}`);

/** Functions get(path) and post(path, body) below an address; both return the parsed body, null for 204. */
export function connectTo(root) {
  const token = document.querySelector('meta[name="csrf"]')?.content ?? "";
  const ask = async (method, path, body, keepalive = false) => {
    const headers = { Accept: "application/json" };
    if (method !== "GET") headers["X-CSRF-Token"] = token;
    const raw = body instanceof Blob;
    if (body !== undefined) headers["Content-Type"] = raw ? "application/octet-stream" : "application/json";
    const request = {
      method,
      headers,
      keepalive,
      credentials: "same-origin",
      cache: "no-store",
      body: body === undefined || raw ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(raw ? LONG_PATIENCE : PATIENCE),
    };
    let response;
    try {
      response = await fetch(root + path, request);
    } catch {
      throw new Trouble("network", "The server cannot be reached.");
    }
    return read(response);
  };
  return {
    get: (path) => ask("GET", path),
    /** A Blob is sent as it is, anything else as JSON. */
    post: (path, body) => ask("POST", path, body),
    /** For events that may be lost, such as a pause. */
    tell: (path, body) => void ask("POST", path, body, true).catch(() => {}),
  };
}

async function read(response) {
  if (response.status === 204) return null;
  if (response.ok) {
    try {
      return await response.json();
    } catch {
      throw new Trouble("answer", "The server's response could not be understood.", response.status);
    }
  }
  const detail = await response.json().then(
    (body) => body.detail,
    () => null,
  );
  const sentence = typeof detail === "string" && detail ? asSentence(detail) : `The server refused (${response.status}).`;
  if (response.status === 401 || response.status === 403) throw new Trouble("session", sentence, response.status);
  if (response.status >= 500 || response.status === 408 || response.status === 429) {
    throw new Trouble("network", sentence, response.status);
  }
  throw new Trouble("refused", sentence, response.status);
}

/** The server's message as a sentence: with a capital letter and a full stop. */
const asSentence = (words) => (words[0].toUpperCase() + words.slice(1)).replace(/[^.!?…]$/, "$&.");

/** A random UUID, version 4; crypto.randomUUID exists only on https and localhost, a study may run on http in a lab. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
