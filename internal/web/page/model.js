// What the page knows: the newest overview, kept up by changes.

import { useCurrency } from './format.js';
import { started } from './words.js';

export const model = {
  version: '', doc: null, live: [], nodes: new Map(), classes: [], history: [], events: [],
  floor: null, failed: '', heardAt: 0, now: null, usage: {}, generation: 0,
};

const historyMost = 1440, eventsMost = 300;

/** Takes in an answer of /api/overview. */
export function merge(doc) {
  useCurrency(doc.currency);
  if (doc.full || !model.doc) {
    model.nodes = new Map(); model.classes = []; model.history = []; model.events = [];
  }
  doc.blocked ??= model.doc.blocked; // it is left out where it is the same
  for (const c of doc.classes || []) model.classes[c.number] = c;
  for (const n of doc.nodes || []) model.nodes.set(n.name, n);
  for (const name of doc.gone || []) model.nodes.delete(name);
  model.history = model.history.concat(doc.history || []).slice(-historyMost);
  model.events = (doc.events || []).concat(model.events).slice(0, eventsMost);
  if (doc.full || doc.nodes.length || (doc.gone || []).length) model.generation++;
  // The controller's history has a point a minute; what is seen meanwhile is added.
  const at = Date.parse(doc.at), last = model.live.at(-1);
  const priced = doc.bill.running || !doc.bill.unpriced && !(started(doc.problems) && !model.nodes.size); // else nothing is known of what things cost
  const now = { t: at, running: priced ? doc.bill.running : null, ...counts(doc) };
  if (!last || ['running', 'nodes', 'pods', 'waiting'].some((k) => last[k] !== now[k]) || at - last.t > 30000) model.live.push(now);
  model.now = now;
  model.live = model.live.slice(-2 * historyMost);
  model.version = doc.version; model.doc = doc; model.failed = ''; model.heardAt = Date.now();
}

/** Nodes that Kerf launched, pods that run, DaemonSets' included, and pods that wait. A pod that is being moved counts where it runs. */
function counts(doc) {
  let nodes = 0, pods = 0;
  for (const n of model.nodes.values()) { pods += running(n); if (n.claim) nodes++; }
  const waiting = doc.waiting.reduce((a, w) => a + w.count, 0) + (doc.waitingMore || 0);
  return { nodes, pods, waiting };
}

/** How many pods are on a node; what it has in use counts those that room is kept for besides. */
export const running = (n) => n.pods.used - (n.expected || 0);

async function get(path) {
  const r = await fetch(path, { credentials: 'same-origin' });
  if (r.ok) return r.json();
  let said = r.status + ' ' + r.statusText;
  try { said = (await r.clone().json()).error || said; } catch { said = (await r.text()) || said; }
  throw new Error(said);
}

export const readOverview = () => get('api/overview' + (model.version ? '?since=' + encodeURIComponent(model.version) : ''));
/** What nodes have in use, by their names; empty where the cluster has no metrics API or the user may not read it. */
export const readUsage = () => get('api/usage');
export const readFloor = () => get('api/floor');
export const explainNode = (name) => get('api/nodes/' + encodeURIComponent(name));
export const explainPod = (pod) => get('api/pods/' + pod.split('/').map(encodeURIComponent).join('/'));
export const explainDecision = (id) => get('api/decisions/' + encodeURIComponent(id));

/** Moves by the names of the nodes that are removed by them. */
export function movesByNode() {
  const out = new Map();
  for (const m of model.doc?.moves || []) for (const n of m.nodes) out.set(n, m);
  return out;
}

/** The part of a node's dominant resource that is asked for, from 0 to 1, and which resource that is. */
export function use(n) {
  let best = { resource: 'cpu', part: 0 };
  for (const resource of ['cpu', 'memory', 'gpu']) {
    const a = n[resource];
    if (a && a.has > 0 && a.used / a.has > best.part) best = { resource, part: a.used / a.has };
  }
  return best;
}

/** The provable floor; null where it is none, or one for other pods than those that run now or have room on an instance. */
export function freshFloor() {
  let carried = 0;
  for (const n of model.nodes.values()) if (n.claim && n.state !== 'launching') for (const [, k] of n.carries || []) carried += k;
  return model.floor && !model.floor.error && model.floor.bound !== undefined && Math.abs(model.floor.pods - carried) <= 1 + carried / 50 ? model.floor : null;
}

/** What is wrong, the worst first, as the controller decides it: {level: 'bad' or 'warn', title, text, since, until, kind, object, remedy, follows}. */
const leveled = (p) => ({ ...p, level: p.level === 'problem' ? 'bad' : 'warn', follows: (p.follows || []).map(leveled) });
export const problems = () => (model.doc?.problems || []).map(leveled);
