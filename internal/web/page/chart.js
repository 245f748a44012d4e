// Cost and floor, nodes, and pods over time.

import { freshFloor, model } from './model.js';
import { date, el, perHour, percent } from './format.js';

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

const left = 52, right = 8, top = 8;

/** One chart: series are {name, points: [{t, v}]}, the first drawn as an area; ticks are parts of the scale that are written. */
function chart(width, height, begin, now, series, { words, amount, ticks, times }) {
  const bottom = times ? 20 : 6;
  const most = nice(Math.max(1, ...series.flatMap((s) => s.points.map((p) => p.v))));
  const x = (t) => left + ((t - begin) / Math.max(1, now - begin)) * (width - left - right), y = (v) => top + (1 - v / most) * (height - top - bottom);
  const out = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': words });
  for (const part of ticks) {
    out.append(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(most * part), y2: y(most * part) }));
    const label = svg('text', { class: 'axis', x: left - 6, y: y(most * part) + 4, 'text-anchor': 'end' });
    label.textContent = amount(most * part);
    out.append(label);
  }
  for (const [t, anchor] of times ? [[begin, 'start'], [(begin + now) / 2, 'middle'], [now, 'end']] : []) {
    const label = svg('text', { class: 'axis', x: x(t), y: height - 5, 'text-anchor': anchor });
    label.textContent = t === now ? 'now' : new Date(t).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: now - begin < 600e3 ? '2-digit' : undefined, hour12: false });
    out.append(label);
  }
  // Steps: an amount holds until it changes.
  const steps = (points) => points.map((p, i) => (i ? `H${x(p.t).toFixed(1)}V${y(p.v).toFixed(1)}` : `M${x(p.t).toFixed(1)} ${y(p.v).toFixed(1)}`)).join('');
  series.forEach((s, i) => {
    if (!s.points.length) return;
    if (i === 0) out.append(svg('path', { class: 'area', d: `${steps(s.points)}V${y(0)}H${x(s.points[0].t)}Z` }));
    out.append(svg('path', { class: s.name, d: steps(s.points) }));
  });
  return out;
}

const key = (name, words) => [el('span', { class: 'key ' + name }), ` ${words} `];

export function drawChart(into, hours) {
  if (!model.now) return;
  const now = Date.now();
  const all = model.history.map((p) => ({ ...p, t: Date.parse(p.at) })).concat(model.live, [{ ...model.now, t: now }]);
  all.sort((a, b) => a.t - b.t);
  const asked = now - hours * 3600e3, begin = Math.max(asked, Math.min(all[0].t, now - 60e3));
  const shown = all.filter((p) => p.t >= begin), of = (field) => shown.filter((p) => p[field] !== null).map((p) => ({ t: p.t, v: p[field] })); // a cost that is not known is no point
  const floor = (model.floor?.points || []).map((p) => ({ t: Date.parse(p.at), v: p.bound })).filter((p) => p.t >= begin && p.v > 0);
  if (floor.length) floor.push({ t: freshFloor() ? now : Date.parse(model.floor.at), v: model.floor.bound }); // an older one says nothing of now
  const paid = of('running'), first = shown[0], last = shown.at(-1), lastFloor = floor.at(-1)?.v, width = Math.max(240, into.clientWidth);
  const whole = (v) => Math.round(v).toLocaleString('en');
  const cost = chart(width, 120, begin, now, [{ name: 'cost', points: paid }, { name: 'floor', points: floor }], {
    words: `${paid.length ? `Cost ${perHour(paid[0].v)} at the beginning, ${perHour(paid.at(-1).v)} now` : 'The cost is not known yet'}${lastFloor ? `; provable floor ${freshFloor() ? '' : 'for earlier pods '}${perHour(lastFloor)}` : ''}`,
    amount: (v) => perHour(v).replace('/h', ''), ticks: [0, 0.5, 1], times: false,
  });
  const costKey = el('p', { class: 'caption' }, key('cost', 'cost per hour'), key('floor', 'provable floor, while this page is open'));
  if (freshFloor() && lastFloor && last.running && !model.doc.bill.unpriced) costKey.append(` · ${percent(Math.max(0, last.running / lastFloor - 1))} above the floor`);
  const nodes = chart(width, 62, begin, now, [{ name: 'nodes', points: of('nodes') }], { words: `${first.nodes} nodes at the beginning, ${last.nodes} now`, amount: whole, ticks: [0, 1], times: false });
  const pods = chart(width, 76, begin, now, [{ name: 'pods', points: of('pods') }, { name: 'waiting', points: of('waiting') }], {
    words: `${first.pods} pods ran and ${first.waiting} waited at the beginning, ${last.pods} run and ${last.waiting} wait now`, amount: whole, ticks: [0, 1], times: true,
  });
  into.replaceChildren(cost, costKey, nodes, el('p', { class: 'caption' }, key('nodes', `nodes: ${whole(last.nodes)}`)), pods,
    el('p', { class: 'caption' }, key('pods', `pods that run: ${whole(last.pods)}`), key('waiting', `that wait: ${whole(last.waiting)}`)),
    began(asked, all[0].t));
}

/** Says where the history begins, if that is later than what was asked for: each replica of the controller has its own. */
function began(asked, first) {
  const since = Date.parse(model.doc.since);
  if (!(since > asked + 60e3)) return '';
  const seen = first < since - 60e3 ? ' What was before is what this page saw.' : '';
  return el('p', { class: 'caption' }, `History since ${date(since)}, when this replica of Kerf started; an update of Kerf starts new ones.${seen}`);
}
