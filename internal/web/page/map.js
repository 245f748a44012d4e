// The picture of the cluster: each node a box whose area is its size, and in it its pods by what they ask for.

import { model, movesByNode, problems, running, use } from './model.js';
import { wrongWith } from './words.js';
import { ago, bytes, cores, perHour, percent } from './format.js';

const canvas = document.getElementById('canvas');
const box = document.getElementById('canvas-box');
const gap = 3, headerHeight = 20, titleFrom = 84, podsFrom = 26, stripsFrom = 10;
const edge = 3; // is left free at the right of the box, or the frame of a node that just fits is cut off

let placed = [];        // [{node, x, y, side}] in the order of drawing
let groups = [];        // [{label, x, y}]
let rows = [];          // for arrow keys: lists of indices into placed
let chosen = '';        // the name of the node that the keyboard is on
let hovered = '';
let held = '';          // the name of the node whose details are open
let options = { colour: 'pool', group: 'pool', find: '', zoom: 1 };
let palette = new Map(); // of the values of the colour, in their order of size
let moves = new Map();

/** How large a node is: a core counts as much as four GiB. */
const size = (n) => Math.max(0.25, n.cpu.has / 1000 + n.memory.has / 2 ** 32 + 4 * (n.gpu?.has || 0));

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let theme = {};
export function readTheme() {
  theme = {};
  for (const name of ['--ink', '--faint', '--empty', '--edge', '--daemon', '--bad', '--warn', '--page', '--focus', '--rest']) theme[name] = css(name);
  theme.hues = Array.from({ length: 8 }, (_, i) => css('--hue-' + i));
  theme.ramp = Array.from({ length: 5 }, (_, i) => css('--ramp-' + i));
}

const ages = [['under an hour', 3600e3], ['under a day', 864e5], ['under a week', 6048e5], ['under 30 days', 2592e6], ['older', Infinity]];
const uses = [['under 20 %', 0.2], ['20–40 %', 0.4], ['40–60 %', 0.6], ['60–80 %', 0.8], ['over 80 %', Infinity]];

/** The value by which a node is coloured, as words. */
function valueOf(n) {
  switch (options.colour) {
    case 'pool': return n.pool || (n.claim ? 'no NodePool' : 'not Kerf’s');
    case 'capacityType': return n.capacityType || 'not known';
    case 'hold': return n.claim ? (n.hold ? n.hold.code : 'nothing') : 'not Kerf’s';
    case 'age': return ages.find(([, most]) => Date.now() - Date.parse(n.created) < most)[0];
    case 'use': return uses.find(([, most]) => use(n).part < most)[0];
  }
  return '';
}

function groupOf(n) {
  switch (options.group) {
    case 'pool': return n.pool || (n.claim ? 'no NodePool' : 'Nodes that Kerf does not manage');
    case 'zone': return n.zone || 'no zone yet';
    case 'type': return n.type || 'no type yet';
  }
  return '';
}

function matches(n) {
  const f = options.find.toLowerCase();
  if (!f) return true;
  if ([n.name, n.claim, n.type, n.zone, n.pool, n.capacityType, n.state].some((s) => s && s.toLowerCase().includes(f))) return true;
  return (n.carries || []).some(([c]) => { const k = model.classes[c]; return k && (k.namespace + '/' + k.name).toLowerCase().includes(f); });
}

/** The colour of a value: the eight most frequent have one of their own. */
function paint() {
  palette = new Map();
  const fixed = options.colour === 'age' ? ages : options.colour === 'use' ? uses : null;
  if (fixed) { fixed.forEach(([words], i) => palette.set(words, { colour: theme.ramp[i], count: 0 })); }
  const counts = new Map();
  if (options.colour === 'workload') {
    for (const n of model.nodes.values()) for (const [c, k] of n.carries || []) {
      const name = model.classes[c]?.name || '?';
      counts.set(name, (counts.get(name) || 0) + k);
    }
  } else {
    for (const n of model.nodes.values()) { const v = valueOf(n); counts.set(v, (counts.get(v) || 0) + 1); }
  }
  if (fixed) { for (const [v, k] of counts) palette.get(v).count = k; return; }
  const top = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  // The same value keeps its colour while the counts change: it is taken by name among the most frequent.
  const names = top.slice(0, 8).map(([v]) => v).sort();
  for (const [v, k] of top.slice(0, 8)) palette.set(v, { colour: theme.hues[names.indexOf(v)], count: k });
  const rest = top.slice(8).reduce((a, [, k]) => a + k, 0);
  if (rest) palette.set('others', { colour: theme['--rest'], count: rest });
}
const colourOf = (v) => (palette.get(v) || palette.get('others') || { colour: theme['--rest'] }).colour;

export function legend() { return [...palette].filter(([, e]) => e.count > 0).map(([words, e]) => ({ words, ...e })); }

/** Places all nodes for a width; the height is what it takes. */
function layout(width, height) {
  const byGroup = new Map();
  for (const n of model.nodes.values()) {
    if (!matches(n)) continue;
    const g = groupOf(n);
    if (!byGroup.has(g)) byGroup.set(g, []);
    byGroup.get(g).push(n);
  }
  const order = [...byGroup].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, nodes] of order) nodes.sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
  const attempt = (scale, out) => {
    let y = 0;
    for (const [label, nodes] of order) {
      if (options.group) { out?.groups.push({ label, count: nodes.length, price: nodes.reduce((a, n) => a + n.price, 0), x: 0, y }); y += headerHeight; }
      let x = 0, tallest = 0, row = [];
      for (const node of nodes) {
        const side = Math.max(3, Math.round(Math.sqrt(size(node)) * scale));
        const g = side < 12 ? 1 : gap;
        if (x > 0 && x + side > width) { y += tallest + g; x = 0; tallest = 0; if (out) { out.rows.push(row); row = []; } }
        if (out) { row.push(out.placed.length); out.placed.push({ node, x, y, side }); }
        x += side + g; tallest = Math.max(tallest, side);
      }
      if (out && row.length) out.rows.push(row);
      y += tallest + 10;
    }
    return y;
  };
  let low = 1, high = 120;
  for (let i = 0; i < 18; i++) { const mid = (low + high) / 2; if (attempt(mid) > height) high = mid; else low = mid; }
  const largest = Math.max(1, ...order.map(([, nodes]) => Math.sqrt(size(nodes[0]))));
  const scale = Math.min(low, 430 / largest) * options.zoom;
  const out = { placed: [], groups: [], rows: [] };
  const total = attempt(scale, out);
  ({ placed, groups, rows } = out);
  return total;
}

/** Rectangles of equal-ish shape for parts of a region; parts are sorted from large to small and sum up to 1. */
function squarify(parts, x, y, w, h, put) {
  let i = 0, rest = parts.reduce((a, p) => a + p, 0);
  while (i < parts.length && w > 0.5 && h > 0.5) {
    const short = Math.min(w, h), area = (w * h) / rest;
    let sum = 0, k = i, worst = Infinity;
    for (; k < parts.length; k++) {
      const next = sum + parts[k], length = (next * area) / short;
      const r = Math.max(...[parts[i], parts[k]].map((p) => { const side = (p * area) / length; return Math.max(side / length, length / side); }));
      if (r > worst) break;
      worst = r; sum = next;
    }
    const length = Math.min((sum * area) / short, w >= h ? w : h);
    let at = 0;
    for (let j = i; j < k; j++) {
      const along = (parts[j] / sum) * short;
      if (w >= h) put(j, x, y + at, length, along); else put(j, x + at, y, along, length);
      at += along;
    }
    if (w >= h) { x += length; w -= length; } else { y += length; h -= length; }
    rest -= sum; i = k;
  }
}

const podsMost = 120; // in one box; beyond, pods of a class are one rectangle

function drawPods(g, n, x, y, w, h, detailed) {
  const { resource, part } = use(n);
  const amount = n[resource];
  if (!amount || !amount.has) return;
  const daemons = Math.min(1, (amount.daemons || 0) / amount.has);
  if (daemons > 0) {
    const dh = Math.max(detailed ? 1.5 : 0, h * daemons);
    g.fillStyle = theme['--daemon'];
    g.fillRect(x, y + h - dh, w, dh);
    h -= dh;
  }
  const carries = n.carries || [];
  let pods = [];
  const total = carries.reduce((a, [, k]) => a + k, 0);
  for (const [c, k] of carries) {
    const cls = model.classes[c];
    if (!cls) continue;
    const share = Math.max((cls[resource] || 0) / amount.has, 0.002);
    if (total > podsMost) pods.push({ cls, share: share * k }); else for (let i = 0; i < k; i++) pods.push({ cls, share });
  }
  if (!pods.length) return;
  pods.sort((a, b) => b.share - a.share || (a.cls.number - b.cls.number));
  const whole = (part - daemons) / Math.max(1e-9, 1 - daemons), used = Math.min(1, Math.max(0, whole));
  const uh = h * used, base = colourOf(valueOf(n));
  squarify(pods.map((p) => p.share), x, y + h - uh, w, uh, (i, px, py, pw, ph) => {
    const cls = pods[i].cls;
    g.fillStyle = options.colour === 'workload' ? colourOf(cls.name) : base;
    const shade = options.colour === 'workload' ? 1 : 0.6 + 0.4 * ((cls.number * 7) % 5) / 4;
    g.globalAlpha = shade;
    const inset = pw > 6 && ph > 6 ? 0.75 : pw > 3 && ph > 3 ? 0.4 : 0;
    g.fillRect(px + inset, py + inset, Math.max(0.5, pw - 2 * inset), Math.max(0.5, ph - 2 * inset));
    g.globalAlpha = 1;
    if (detailed && pw > 54 && ph > 15) {
      g.fillStyle = shade < 0.85 ? theme['--ink'] : theme['--page']; g.font = '10px system-ui, sans-serif';
      g.fillText(fit(g, cls.name, pw - 8), px + 4, py + 12);
    }
  });
}

/** The part of a node's name that tells it from others. */
const short = (n) => n.name.split('.')[0].replace(/^ip-10-/, '').replace(/^ip-/, '');

function fit(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) { const mid = (low + high + 1) >> 1; if (g.measureText(text.slice(0, mid) + '…').width <= width) low = mid; else high = mid - 1; }
  return low > 1 ? text.slice(0, low) + '…' : '';
}

function drawNode(g, p) {
  const { node: n, x, y, side } = p;
  const move = moves.get(n.name), going = n.state === 'leaving' || n.state === 'draining' || move?.begun;
  const coming = n.state === 'launching' || n.state === 'joining' || n.state === 'starting';
  g.fillStyle = theme['--empty'];
  g.fillRect(x, y, side, side);
  const title = side >= titleFrom ? 16 : 0;
  if (side >= podsFrom) drawPods(g, n, x + 2, y + 2 + title, side - 4, side - 4 - title, side >= titleFrom);
  else if (side >= stripsFrom) drawPods(g, n, x + 1, y + 1, side - 2, side - 2, false);
  else {
    const h = side * Math.min(1, use(n).part);
    g.fillStyle = options.colour === 'workload' ? colourOf(model.classes[n.carries?.[0]?.[0]]?.name) : colourOf(valueOf(n));
    g.globalAlpha = coming ? 0.4 : 0.9; g.fillRect(x, y + side - h, side, h); g.globalAlpha = 1;
  }
  if (going && side >= 6) { // hatched: it is on its way out
    g.save(); g.beginPath(); g.rect(x, y, side, side); g.clip();
    g.strokeStyle = theme['--faint']; g.lineWidth = side > 30 ? 1.5 : 1; g.globalAlpha = 0.8;
    g.beginPath();
    for (let d = -side; d < side; d += side > 30 ? 10 : 5) { g.moveTo(x + d, y + side); g.lineTo(x + d + side, y); }
    g.stroke(); g.restore();
  }
  g.lineWidth = side > 12 ? 1.5 : 0.75;
  g.strokeStyle = n.state === 'not ready' ? theme['--bad'] : going ? theme['--faint'] : move ? theme['--warn'] : coming ? theme['--ink'] : theme['--edge'];
  g.setLineDash(coming ? [4, 3] : move && !going ? [6, 3] : []);
  if (move || going || coming || n.state === 'not ready') g.lineWidth += 0.75;
  if (side >= 6) g.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
  g.setLineDash([]);
  if (title) {
    g.fillStyle = theme['--ink']; g.font = '11px system-ui, sans-serif';
    const price = n.price ? perHour(n.price) : '', pw = side > 150 ? g.measureText(price).width + 6 : 0;
    if (going) { g.fillStyle = theme['--page']; g.fillRect(x + 1.5, y + 1.5, side - 3, 16); g.fillStyle = theme['--faint']; }
    const what = [short(n), n.type].filter(Boolean).join(' · ');
    const words = n.state === 'launching' && wrongWith(n, problems()) ? 'not launched: see Problems' : coming ? `${n.state} … ${n.type || ''}` : going ? `removing ${what}` : what;
    g.fillText(fit(g, words, side - 10 - pw), x + 5, y + 13);
    if (pw) { g.fillStyle = theme['--faint']; g.fillText(price, x + side - pw, y + 13); }
  }
  if (n.name === chosen || n.name === hovered || n.name === held) {
    g.lineWidth = n.name === held ? 4 : 2.5; g.strokeStyle = theme['--focus']; g.strokeRect(x - 1, y - 1, side + 2, side + 2);
  }
}

/** Draws all, or what is visible of it. */
export function draw() {
  readTheme();
  moves = movesByNode();
  paint();
  const width = box.clientWidth;
  const narrow = matchMedia('(max-width: 900px)').matches; // there the map is as tall as what is in it
  const height = layout(width - edge, Math.max(200, narrow ? innerHeight * 0.5 : box.clientHeight - 4));
  const ratio = window.devicePixelRatio || 1, tall = Math.max(height, 60);
  // A canvas has limits of size; beyond them the page draws what is visible, which is what it does anyway.
  canvas.style.width = width + 'px'; canvas.style.height = tall + 'px';
  const most = 16000 / ratio;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(Math.min(tall, most) * ratio);
  repaint();
}

/** Draws what is placed, without placing it anew. */
export function repaint() {
  const ratio = window.devicePixelRatio || 1, g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, canvas.width / ratio, canvas.height / ratio);
  g.textBaseline = 'alphabetic';
  g.font = '600 12px system-ui, sans-serif';
  for (const h of groups) {
    g.fillStyle = theme['--faint'];
    g.fillText(`${h.label}  ·  ${h.count} ${h.count === 1 ? 'node' : 'nodes'}${h.price ? '  ·  ' + perHour(h.price) : ''}`, h.x, h.y + 14);
  }
  for (const p of placed) drawNode(g, p);
}

export function set(changes) { options = { ...options, ...changes }; draw(); }
/** Marks the node whose details are open, and scrolls to it; none without a name. */
export function hold(name) {
  held = name;
  const p = placed.find((x) => x.node.name === name);
  if (p && (p.y < box.scrollTop || p.y + p.side > box.scrollTop + box.clientHeight)) box.scrollTop = Math.max(0, p.y - box.clientHeight / 3);
  repaint();
}
export const zoom = (by) => set({ zoom: Math.min(8, Math.max(0.5, options.zoom * by)) });
export const nothingFound = () => placed.length === 0 && model.nodes.size > 0;

const at = (x, y) => placed.find((p) => x >= p.x && x < p.x + p.side && y >= p.y && y < p.y + p.side);

/** A node in words, as lines. */
export function describe(n) {
  const u = use(n), move = moves.get(n.name), lines = [];
  lines.push([n.type || 'no instance type yet', n.zone, n.capacityType, n.price ? perHour(n.price) : ''].filter(Boolean).join(' · '));
  lines.push(`${n.state}, ${ago(n.created)} old${n.pool ? ', NodePool ' + n.pool : n.claim ? '' : ', not managed by Kerf'}`);
  lines.push(`CPU ${cores(n.cpu.used)} of ${cores(n.cpu.has)}, memory ${bytes(n.memory.used)} of ${bytes(n.memory.has)}, ${running(n)} of ${n.pods.has} pods${n.expected ? ` and room kept for ${n.expected} more` : ''}; ${percent(u.part)} of its ${u.resource} asked for`);
  const inUse = model.usage[n.name];
  if (inUse) lines.push(`In use: CPU ${cores(inUse.cpu)} (${percent(inUse.cpu / n.cpu.has)}), memory ${bytes(inUse.memory)} (${percent(inUse.memory / n.memory.has)})`);
  if (move) lines.push(`${move.begun ? 'Being removed' : 'About to be removed'}: ${move.why}`);
  else if (n.hold) lines.push(`Kept: ${n.hold.text}${n.hold.saves ? '; removing it would save ' + perHour(n.hold.saves) : ''}`);
  return lines;
}

/** Connects mouse and keyboard: show(node, x, y) or show(null) for the tip, open(node), say(words) for screen readers. */
export function listen({ show, open, say }) {
  const spot = (e) => { const r = canvas.getBoundingClientRect(); return at(e.clientX - r.left, e.clientY - r.top); };
  canvas.addEventListener('mousemove', (e) => {
    const p = spot(e);
    canvas.style.cursor = p ? 'pointer' : '';
    if ((p?.node.name || '') !== hovered) { hovered = p?.node.name || ''; repaint(); }
    show(p?.node || null, e.clientX, e.clientY);
  });
  canvas.addEventListener('mouseleave', () => { hovered = ''; repaint(); show(null); });
  canvas.addEventListener('click', (e) => { const p = spot(e); if (p) { chosen = p.node.name; repaint(); open(p.node); } });
  canvas.addEventListener('blur', () => { chosen = ''; repaint(); show(null); });
  canvas.addEventListener('keydown', (e) => {
    const i = placed.findIndex((p) => p.node.name === chosen);
    const row = rows.findIndex((r) => r.includes(i));
    let to = -1;
    if (e.key === 'ArrowRight') to = Math.min(placed.length - 1, i + 1);
    else if (e.key === 'ArrowLeft') to = Math.max(0, i - 1);
    else if (e.key === 'Home') to = 0;
    else if (e.key === 'End') to = placed.length - 1;
    else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      const next = rows[i < 0 ? 0 : row + (e.key === 'ArrowDown' ? 1 : -1)];
      if (next) to = next.reduce((a, b) => (Math.abs(placed[b].x - (placed[i]?.x || 0)) < Math.abs(placed[a].x - (placed[i]?.x || 0)) ? b : a), next[0]);
    } else if (e.key === 'Enter' || e.key === ' ') { if (i >= 0) { e.preventDefault(); open(placed[i].node); } return; }
    else if (e.key === '+' || e.key === '-') { e.preventDefault(); zoom(e.key === '+' ? 1.25 : 0.8); return; }
    else if (e.key === 'Escape') { chosen = ''; repaint(); show(null); return; }
    if (to < 0 || !placed[to]) return;
    e.preventDefault();
    const p = placed[to];
    chosen = p.node.name;
    if (p.y < box.scrollTop) box.scrollTop = p.y - 4;
    if (p.y + p.side > box.scrollTop + box.clientHeight) box.scrollTop = p.y + p.side - box.clientHeight + 4;
    repaint();
    const r = canvas.getBoundingClientRect();
    show(p.node, r.left + p.x + p.side, r.top + p.y);
    say(p.node.name + ': ' + describe(p.node).join('. '));
  });
}

/** The nodes that are found, for the table. */
export const found = () => [...model.nodes.values()].filter(matches);
