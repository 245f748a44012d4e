// Cost and floor over time.

import { freshFloor, model } from './model.js';
import { el, perHour, percent } from './format.js';

const NS = 'http://www.w3.org/2000/svg';
const svg = (tag, attributes, ...children) => {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

/** A round number not below x, for the scale. */
function nice(x) {
  if (x <= 0) return 1;
  const p = 10 ** Math.floor(Math.log10(x));
  return [1, 1.5, 2, 3, 4, 5, 8, 10].map((m) => m * p).find((m) => m >= x);
}

export function drawChart(into, hours) {
  const now = Date.now(), all = model.history.map((p) => ({ t: Date.parse(p.at), v: p.running })).concat(model.live.map((p) => ({ t: p.t, v: p.running })));
  all.sort((a, b) => a.t - b.t);
  if (model.doc) all.push({ t: now, v: model.doc.bill.running });
  const begin = Math.max(now - hours * 3600e3, all.length ? Math.min(all[0].t, now - 60e3) : now - 3600e3);
  const cost = all.filter((p) => p.t >= begin);
  const floor = (model.floor?.points || []).map((p) => ({ t: Date.parse(p.at), v: p.bound })).filter((p) => p.t >= begin && p.v > 0);
  if (floor.length) { floor.push({ t: now, v: floor.at(-1).v }); }
  const w = Math.max(240, into.clientWidth), h = 130, left = 52, right = 8, top = 8, bottom = 20;
  const most = nice(Math.max(1, ...cost.map((p) => p.v), ...floor.map((p) => p.v)));
  const x = (t) => left + ((t - begin) / Math.max(1, now - begin)) * (w - left - right), y = (v) => top + (1 - v / most) * (h - top - bottom);
  const last = cost.at(-1)?.v ?? 0, lastFloor = floor.at(-1)?.v;
  const words = cost.length ? `Cost ${perHour(cost[0].v)} at the beginning, ${perHour(last)} now${lastFloor ? `; provable floor ${perHour(lastFloor)}` : ''}` : 'No cost is known yet';
  const out = svg('svg', { viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: 'img', 'aria-label': words });
  for (const part of [0, 0.5, 1]) {
    out.append(svg('line', { class: 'grid', x1: left, x2: w - right, y1: y(most * part), y2: y(most * part) }));
    const label = svg('text', { class: 'axis', x: left - 6, y: y(most * part) + 4, 'text-anchor': 'end' });
    label.textContent = perHour(most * part).replace('/h', '');
    out.append(label);
  }
  for (const [t, anchor] of [[begin, 'start'], [(begin + now) / 2, 'middle'], [now, 'end']]) {
    const label = svg('text', { class: 'axis', x: x(t), y: h - 5, 'text-anchor': anchor });
    label.textContent = t === now ? 'now' : new Date(t).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: now - begin < 600e3 ? '2-digit' : undefined, hour12: false });
    out.append(label);
  }
  // Steps: a price holds until it changes.
  const steps = (points) => points.map((p, i) => (i ? `H${x(p.t).toFixed(1)}V${y(p.v).toFixed(1)}` : `M${x(p.t).toFixed(1)} ${y(p.v).toFixed(1)}`)).join('');
  if (cost.length) {
    out.append(svg('path', { class: 'area', d: `${steps(cost)}V${y(0)}H${x(cost[0].t)}Z` }), svg('path', { class: 'cost', d: steps(cost) }));
  }
  if (floor.length) out.append(svg('path', { class: 'floor', d: steps(floor) }));
  const caption = el('p', { class: 'caption' }, el('span', { class: 'key cost' }), ' cost ', el('span', { class: 'key floor' }), ' provable floor, while this page is open');
  if (freshFloor() && lastFloor && last) caption.append(` · ${percent(last / lastFloor - 1)} above the floor`);
  into.replaceChildren(out, caption);
}
