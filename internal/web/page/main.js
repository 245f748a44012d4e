// Asks for news, and has them shown.

import { explainDecision, explainNode, explainPod, freshFloor, merge, model, problems, readFloor, readOverview, readUsage, running, use } from './model.js';
import * as map from './map.js';
import { drawChart } from './chart.js';
import { figures, health, panels, todo } from './panels.js';
import { stale, wrongWith } from './words.js';
import { ago, bytes, cores, el, percent, perHour, perHourTitle } from './format.js';

// A large cluster changes all the time, and each change costs its controller something: nobody sees 1,000 boxes change each two seconds.
const pollEvery = () => (model.nodes.size >= 1000 && !problems().some((p) => p.level === 'bad') ? 4000 : 2000);
const floorEvery = 4000, usageEvery = 15000, retryEvery = 3000;
const $ = (id) => document.getElementById(id);

// --- theme -----------------------------------------------------------------------------------------------------------
const remembered = localStorage.getItem('kerf-theme');
if (remembered) document.documentElement.dataset.theme = remembered;
const dark = () => (document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
$('theme').onclick = () => {
  const to = dark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = to;
  localStorage.setItem('kerf-theme', to);
  map.readTheme(); map.draw(); showLegend();
};
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { map.readTheme(); map.draw(); showLegend(); });

// --- details ---------------------------------------------------------------------------------------------------------
// They are shown beside the map, over the lists; on a narrow screen over everything. What was opened last is what is asked for: a
// slow answer about something else comes too late.
let asked = 0, openedFrom = null;
const narrow = matchMedia('(max-width: 900px)');
async function openDetail(title, head, read, file) {
  const mine = ++asked;
  $('detail-title').textContent = title;
  $('detail-file').hidden = !file;
  if (file) $('detail-file').href = file;
  const text = el('pre', {}, 'asking …'), extra = el('div', {});
  $('detail-body').replaceChildren(...head, text, extra);
  if (!$('detail').open) {
    openedFrom = document.activeElement;
    if (narrow.matches) $('detail').showModal(); else { beside(); $('detail').show(); }
    document.body.dataset.detail = 'open';
  }
  $('detail-title').focus({ preventScroll: true });
  $('detail').scrollTop = 0;
  try {
    const a = await read();
    if (mine !== asked) return;
    text.textContent = a.text;
    if (a.pods?.length) {
      extra.append(el('h3', {}, `Pods (${a.pods.length})`), el('div', { class: 'scroll' }, el('table', {},
        el('thead', {}, el('tr', {}, ['pod', 'CPU', 'memory', ''].map((h) => el('th', { scope: 'col' }, h)))),
        el('tbody', {}, a.pods.map((p) => el('tr', {}, el('td', {}, p.daemon ? p.pod : el('button', { type: 'button', class: 'link', onclick: () => openPod(p.pod) }, p.pod)), el('td', { class: 'number' }, cores(p.cpu)), el('td', { class: 'number' }, bytes(p.memory)), el('td', {}, p.daemon ? 'daemon' : '')))))));
    }
  } catch (e) { if (mine !== asked) return; text.textContent = 'This could not be found out: ' + e.message; text.className = 'bad'; }
}
const problem = (p) => (p ? [el('div', { class: 'wrong ' + p.level }, el('strong', {}, p.title), p.text ? el('div', {}, p.text) : '', el('div', {}, todo(p.remedy)))] : []);
function openNode(nameOrNode) {
  const n = typeof nameOrNode === 'string' ? model.nodes.get(nameOrNode) : nameOrNode;
  if (!n) return;
  showTip(null);
  map.hold(n.name);
  openDetail(n.name, [...problem(wrongWith(n, problems())), el('ul', { class: 'plain' }, map.describe(n).filter((l) => !l.startsWith('Kept: ')).map((l) => el('li', {}, l)))], () => explainNode(n.name));
}
/** Opens a pod. What is wrong now, if that is why it was opened, stands before what was decided: that may be older. */
const openPod = (pod, wrong) => {
  map.hold('');
  openDetail(pod, !wrong ? [] : [...problem(wrong), el('h3', {}, 'What was decided about the pod')], () => explainPod(pod));
};
const openDecision = (id) => openDetail('Decision ' + id, [], () => explainDecision(id), `api/decisions/${encodeURIComponent(id)}/file`);
$('detail-close').onclick = () => $('detail').close();
$('detail').addEventListener('click', (e) => { if (e.target === $('detail') && narrow.matches) $('detail').close(); });
$('detail').addEventListener('close', () => {
  if ($('detail').open) return; // opened again since: this is told with the next frame, which a busy browser draws late
  asked++;
  delete document.body.dataset.detail;
  map.hold('');
  if (openedFrom?.isConnected) openedFrom.focus({ preventScroll: true });
});
document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && $('detail').open) $('detail').close(); });

/** Puts the details over the lists: below the header, as wide as they are. */
function beside() {
  const lists = $('side').getBoundingClientRect(), top = Math.max(0, document.querySelector('header').getBoundingClientRect().bottom);
  $('detail').style.setProperty('--top', top + 'px');
  $('detail').style.setProperty('--width', lists.width + 'px');
}
for (const news of ['resize', 'scroll']) addEventListener(news, () => { if ($('detail').open) beside(); }, { passive: true });

// --- map and table ---------------------------------------------------------------------------------------------------
function showTip(n, x, y) {
  const tip = $('tip');
  tip.hidden = !n;
  if (!n) return;
  tip.replaceChildren(el('strong', {}, n.name), ...map.describe(n).map((l) => el('div', {}, l)),
    ...(n.carries || []).slice(0, 8).map(([c, k]) => el('div', { class: 'detail' }, `${k} × ${model.classes[c]?.namespace}/${model.classes[c]?.name}`)),
    (n.carries || []).length > 8 ? el('div', { class: 'detail' }, `and ${n.carries.length - 8} more`) : '');
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 6)) + 'px';
  tip.style.top = Math.max(4, y + 14 + h > innerHeight ? y - h - 10 : y + 14) + 'px';
}
map.listen({ show: showTip, open: openNode, say: (words) => { $('chosen').textContent = words; } });

function showLegend() {
  $('legend').replaceChildren(...map.legend().map((e) => el('span', {}, el('i', { class: 'swatch', colour: e.colour }), `${e.words} (${e.count.toLocaleString('en')})`)),
    el('span', {}, el('i', { class: 'swatch daemon' }), 'DaemonSets'), el('span', {}, el('i', { class: 'swatch empty' }), 'free'),
    el('span', {}, el('i', { class: 'swatch coming' }), 'on its way'), el('span', {}, el('i', { class: 'swatch found' }), 'found to save money'), el('span', {}, el('i', { class: 'swatch going' }), 'being removed'), el('span', { class: 'hint' }, 'box: size of the node · coloured: what pods ask for'));
}

const columns = [
  ['node', (n) => n.name], ['NodePool', (n) => n.pool || ''], ['type', (n) => n.type || ''], ['zone', (n) => n.zone || ''], ['capacity', (n) => n.capacityType || ''],
  ['state', (n) => n.state], ['age', (n) => -Date.parse(n.created), (n) => ago(n.created)], ['price', (n) => n.price, (n) => (n.price ? perHour(n.price) : '')],
  ['asked for', (n) => use(n).part, (n) => percent(use(n).part)], ['pods', running], ['kept because', (n) => n.hold?.text || ''],
];
const rowsMost = 500;
let tableShown = false, sort = { column: 0, down: false };
function showTable() {
  if (!tableShown) return;
  const all = map.found(), [, key] = columns[sort.column];
  all.sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : a.name < b.name ? -1 : 1) * (sort.down ? -1 : 1); });
  const heads = columns.map(([title], i) => [title === 'price' ? perHourTitle() : title, i]).map(([title, i]) => el('th', { scope: 'col', 'aria-sort': i === sort.column ? (sort.down ? 'descending' : 'ascending') : 'none' },
    el('button', { type: 'button', class: 'link', onclick: () => { sort = { column: i, down: sort.column === i && !sort.down }; showTable(); } }, title + (i === sort.column ? (sort.down ? ' ▾' : ' ▴') : ''))));
  const rows = all.slice(0, rowsMost).map((n) => el('tr', {}, columns.map(([, k, words], i) => el('td', { class: [7, 8, 9].includes(i) ? 'number' : '' },
    i === 0 ? el('button', { type: 'button', class: 'link', onclick: () => openNode(n) }, n.name) : String((words || k)(n))))));
  $('table-box').replaceChildren(el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, rows)),
    all.length > rowsMost ? el('p', { class: 'none' }, `${all.length - rowsMost} more: find narrows them down`) : '');
}
$('as-table').onclick = () => {
  tableShown = !tableShown;
  $('as-table').setAttribute('aria-pressed', String(tableShown));
  $('table-box').hidden = !tableShown; $('canvas-box').hidden = tableShown; $('legend').hidden = tableShown;
  showTable(); if (!tableShown) redraw();
};
for (const id of ['colour', 'group']) $(id).onchange = () => { map.set({ [id]: $(id).value }); showLegend(); };
$('find').oninput = () => { map.set({ find: $('find').value.trim() }); empty(); showTable(); };
$('larger').onclick = () => map.zoom(1.25);
$('smaller').onclick = () => map.zoom(0.8);
$('events-of').onchange = () => panels({ openPod, openNode, openDecision });
$('span').onchange = () => drawChart($('chart'), Number($('span').value));

function empty() {
  const none = $('nothing');
  none.hidden = !(map.nothingFound() || (model.doc && model.nodes.size === 0));
  none.textContent = map.nothingFound() ? 'No node, type or workload has that in its name.' : 'The cluster has no nodes yet. Pods that wait get some.';
}
function redraw() { map.draw(); showLegend(); empty(); }

let resizing;
new ResizeObserver(() => { cancelAnimationFrame(resizing); resizing = requestAnimationFrame(() => { if (model.doc) { redraw(); drawChart($('chart'), Number($('span').value)); } }); }).observe($('canvas-box'));

// --- news ------------------------------------------------------------------------------------------------------------
let generation = -1, movesSeen = '';
function show() {
  figures();
  panels({ openPod, openNode, openDecision });
  const moves = JSON.stringify(model.doc?.moves || []);
  if (model.generation !== generation || moves !== movesSeen) { generation = model.generation; movesSeen = moves; redraw(); showTable(); }
  drawChart($('chart'), Number($('span').value));
  if (!document.body.dataset.ready) { document.body.dataset.ready = 'yes'; performance.mark('kerf-first'); }
}

function fresh() {
  const e = $('fresh'), old = stale(model.heardAt, model.failed);
  e.className = old ? 'bad' : '';
  if (old) e.textContent = (model.heardAt ? `Nothing new for ${ago(model.heardAt)}: ` : 'No answer yet: ') + (model.failed || 'the controller takes long to answer');
  else if (model.heardAt) e.textContent = `Kerf ${model.doc.kerf} · live`;
  health();
}
setInterval(() => { if (!document.hidden) fresh(); }, 1000); // a call that hangs fails late, and what is shown grows old meanwhile

async function poll() {
  if (!document.hidden) {
    try { merge(await readOverview()); show(); } catch (e) { model.failed = e.message; }
    fresh();
  }
  setTimeout(poll, model.failed ? retryEvery : pollEvery());
}
async function pollFloor() {
  if (!document.hidden && !model.failed) {
    try { model.floor = await readFloor(); if (model.doc) show(); } catch { /* the overview says that the controller does not answer */ }
  }
  setTimeout(pollFloor, freshFloor() || model.floor?.error ? floorEvery : 1500); // one for other pods is about to be found anew
}
async function pollUsage() {
  if (!document.hidden && !model.failed && model.doc) {
    try { model.usage = await readUsage(); } catch { /* as above */ }
  }
  setTimeout(pollUsage, model.doc ? usageEvery : 1000);
}
document.addEventListener('visibilitychange', () => { if (document.hidden && model.doc) document.title = `${model.doc.cluster} · kerf`; else if (model.doc) fresh(); }); // nobody asks while it is hidden: figures would be old

map.readTheme();
poll();
pollFloor();
pollUsage();
