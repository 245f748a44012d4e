// What the page knows: the newest overview, kept up by changes.

export const model = {
  version: '', doc: null, live: [], nodes: new Map(), classes: [], history: [], events: [],
  floor: null, failed: '', heardAt: 0, generation: 0,
};

const historyMost = 1440, eventsMost = 300;

/** Takes in an answer of /api/overview. */
export function merge(doc) {
  if (doc.full || !model.doc) {
    model.nodes = new Map(); model.classes = []; model.history = []; model.events = [];
  }
  for (const c of doc.classes || []) model.classes[c.number] = c;
  for (const n of doc.nodes || []) model.nodes.set(n.name, n);
  for (const name of doc.gone || []) model.nodes.delete(name);
  model.history = model.history.concat(doc.history || []).slice(-historyMost);
  model.events = (doc.events || []).concat(model.events).slice(0, eventsMost);
  if (doc.full || doc.nodes.length || (doc.gone || []).length) model.generation++;
  // The controller's history has a point a minute; what is seen meanwhile is added.
  const at = Date.parse(doc.at), last = model.live.at(-1);
  if (!last || last.running !== doc.bill.running || at - last.t > 30000) model.live.push({ t: at, running: doc.bill.running });
  model.live = model.live.slice(-2 * historyMost);
  model.version = doc.version; model.doc = doc; model.failed = ''; model.heardAt = Date.now();
}

async function get(path) {
  const r = await fetch(path, { credentials: 'same-origin' });
  if (r.ok) return r.json();
  let said = r.status + ' ' + r.statusText;
  try { said = (await r.clone().json()).error || said; } catch { said = (await r.text()) || said; }
  throw new Error(said);
}

export const readOverview = () => get('api/overview' + (model.version ? '?since=' + encodeURIComponent(model.version) : ''));
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

/** What is wrong, the worst first: {level, title, text}. */
export function problems() {
  const d = model.doc, out = [];
  if (!d) return out;
  for (const s of d.services) if (!s.answers) out.push({ level: 'bad', title: `AWS ${s.name} does not answer`, text: s.error, since: s.since });
  for (const t of d.troubles) out.push({ level: t.kind === 'NodeClaim' ? 'warn' : 'bad', title: `${t.kind} ${t.name}: ${t.condition} is not true`, text: t.message || t.reason, since: t.since });
  for (const p of d.pools) if (p.notReady && !d.troubles.some((t) => t.kind === 'NodePool' && t.name === p.name)) out.push({ level: 'bad', title: `NodePool ${p.name} can't launch nodes`, text: p.notReady });
  const stuck = d.waiting.filter((w) => !w.node);
  if (stuck.length) {
    const pods = stuck.reduce((a, w) => a + w.count, 0) + (d.waitingMore || 0);
    out.push({ level: 'bad', title: `${pods.toLocaleString('en')} ${pods === 1 ? 'pod waits' : 'pods wait'} and no node is on its way`, text: stuck[0].why || 'it is being decided', since: stuck.reduce((a, w) => (w.since < a ? w.since : a), stuck[0].since) });
  }
  for (const n of model.nodes.values()) if (n.state === 'not ready') out.push({ level: 'warn', title: `Node ${n.name} is not ready`, text: n.claim ? '' : 'Kerf did not launch it', node: n.name });
  if (d.held) out.push({ level: 'warn', title: 'Consolidation that moves pods is paused', text: d.held.why, until: d.held.until });
  for (const p of d.pools) for (const [r, limit] of Object.entries(p.limits || {})) if (p.used[r] >= limit * 0.95) out.push({ level: 'warn', title: `NodePool ${p.name} has reached ${Math.round((100 * p.used[r]) / limit)} % of its limit of ${r}`, text: '' });
  if (d.bill.unpriced) out.push({ level: 'warn', title: `${d.bill.unpriced} nodes have no known price`, text: 'the cost does not count them' });
  return out;
}
