// How amounts are written.

// What amounts begin with: AWS charges in one currency in a region.
let symbol = '$';
export function useCurrency(code) { symbol = { USD: '$', CNY: '¥', EUR: '€' }[code || 'USD'] || code + ' '; }
export const perHourTitle = () => symbol.trim() + '/h';

/** An amount of millionths of it. */
export function money(micro) {
  const d = micro / 1e6, a = Math.abs(d);
  const digits = a === 0 ? 2 : a < 0.1 ? 4 : a < 10 ? 3 : a < 1000 ? 2 : 0;
  return (d < 0 ? '−' : '') + symbol + a.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
export const perHour = (micro) => money(micro) + '/h';
/** For a month of 730 hours, without a fraction where it is large. */
export function perMonth(micro) {
  const d = (micro * 730) / 1e6;
  return symbol + d.toLocaleString('en', { maximumFractionDigits: d < 10 ? 2 : 0 });
}
export const percent = (x) => (x < 0 ? '−' : '') + Math.abs(x * 100).toFixed(Math.abs(x) < 0.1 ? 1 : 0) + ' %';
export const count = (n, noun, many = noun + 's') => `${n.toLocaleString('en')} ${n === 1 ? noun : many}`;
export const cores = (milli) => (milli / 1000).toLocaleString('en', { maximumFractionDigits: milli < 10000 ? 2 : 0 });

export function bytes(b) {
  const g = b / 2 ** 30;
  if (g >= 10000) return (g / 1024).toFixed(1) + ' TiB';
  if (g >= 1) return g.toLocaleString('en', { maximumFractionDigits: g < 10 ? 1 : 0 }) + ' GiB';
  return Math.round(b / 2 ** 20) + ' MiB';
}

/** How long ago a time is, in one unit; the time as the controller writes it, or in milliseconds as Date.now has it. */
export function ago(at, now = Date.now()) {
  const s = Math.max(0, (now - (typeof at === 'number' ? at : Date.parse(at))) / 1000);
  if (s < 90) return Math.round(s) + ' s';
  if (s < 5400) return Math.round(s / 60) + ' min';
  if (s < 129600) return Math.round(s / 3600) + ' h';
  return Math.round(s / 86400) + ' d';
}
/** How long it is until a time; empty once it has come. */
export function until(iso, now = Date.now()) {
  const s = Math.ceil((Date.parse(iso) - now) / 1000);
  if (s <= 0) return '';
  if (s < 600) return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')} min`;
  if (s < 5400) return Math.round(s / 60) + ' min';
  if (s < 129600) return Math.round(s / 3600) + ' h';
  return Math.round(s / 86400) + ' d';
}
/** A time that counts down by itself. */
export const countdown = (iso) => el('time', { class: 'countdown', datetime: iso }, until(iso) || 'now');
setInterval(() => { for (const e of document.querySelectorAll('time.countdown')) e.textContent = until(e.getAttribute('datetime')) || 'now'; }, 1000);
export const date = (iso) => new Date(iso).toLocaleString([], { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hour12: false });
/** A time of today; of another day with its date. */
export const clock = (iso) => (new Date(iso).toDateString() === new Date().toDateString() ? new Date(iso).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }) : date(iso));

/** An element with attributes and children; text is never read as HTML. */
export function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'colour') e.style.setProperty('--c', v);
    else e.setAttribute(k, v === true ? '' : v);
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined && c !== false) e.append(c);
  return e;
}
