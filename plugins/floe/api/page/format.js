// Values as people read them. What is not known is a dash.

export const NONE = "–";
const MOST = 160;
const WHOLE = new Intl.NumberFormat("en-US");

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** A whole number with separators. */
export function count(value) {
  return isNumber(value) ? WHOLE.format(value) : NONE;
}

/** `1 record`, `2 records`. */
export function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Seconds as the two largest units: `3 min 5 s`. */
export function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  let left = Math.max(0, Math.round(seconds));
  if (left < 1) return "under 1 s";
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    const some = Math.floor(left / size);
    left -= some * size;
    if (some) parts.push(`${some} ${unit}`);
    if (parts.length === 2 || (parts.length === 1 && !some)) break;
  }
  return parts.join(" ");
}

/** Seconds since a moment; null for what is none. */
export function age(moment, now = Date.now()) {
  const time = Date.parse(moment);
  return Number.isNaN(time) ? null : (now - time) / 1000;
}

/** `3 min 5 s ago`, or `in 4 s`. */
export function ago(moment, now) {
  const seconds = age(moment, now);
  if (seconds === null) return NONE;
  if (seconds < -1) return `in ${duration(-seconds)}`;
  return seconds < 1 ? "now" : `${duration(seconds)} ago`;
}

/** A moment in the browser's time zone, to the second. */
export function moment(text) {
  const time = new Date(text);
  if (typeof text !== "string" || Number.isNaN(time.getTime())) return NONE;
  const two = (number) => String(number).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** Bytes: `3.4 MB`. */
export function size(bytes) {
  if (!isNumber(bytes)) return NONE;
  let value = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 1000) return `${unit === "B" ? value : value.toFixed(1)} ${unit}`;
    value /= 1000;
  }
  return `${value.toFixed(1)} TB`;
}

/** A range of offsets: `[3, 7)`. */
export function range([start, end]) {
  return `[${count(start)}, ${count(end)})`;
}

/** Any text: characters that do not show, or turn the direction, by their codes; a long one is cut and says so. */
export function shown(value, most = MOST) {
  const text = String(value ?? NONE);
  const cut = text.length > most ? `${text.slice(0, most)}… (${WHOLE.format(text.length)} characters)` : text;
  return cut.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

/** The first bytes of a value, 16 a line: offset, hexadecimal digits, printable characters. */
export function dump(digits) {
  const bytes = String(digits).match(/[0-9a-f]{2}/gi) ?? [];
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const some = bytes.slice(at, at + 16);
    const text = some.map((byte) => parseInt(byte, 16)).map((code) => (code > 31 && code < 127 ? String.fromCharCode(code) : "."));
    lines.push(`${at.toString(16).padStart(4, "0")}  ${some.join(" ").padEnd(47)}  ${text.join("")}`);
  }
  return lines.join("\n");
}
