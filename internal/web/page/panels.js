// The lists beside the map.

import { freshFloor, model, problems } from './model.js';
import { answering, begins, capped, decided, floorWords, place, saidBy, stale, started, steps, verdict, wrongWith } from './words.js';
import { ago, clock, count, countdown, date, el, money, perHour, perMonth } from './format.js';

const said = new Map();
/** Replaces a list only when it says something else, so that focus and selection stay. */
function put(id, key, make) {
  const text = JSON.stringify(key);
  if (said.get(id) === text) return;
  said.set(id, text);
  document.querySelector(`#${id} .body`).replaceChildren(...[make()].flat().filter(Boolean));
}
const none = (words) => el('p', { class: 'none' }, words);

/** A list of which the first are shown; the others behind a button. */
function list(items, make, first = 8) {
  const { shown, rest, more: words } = capped(items, first);
  const ul = el('ul', {}, shown.map(make));
  if (!rest.length) return ul;
  const more = el('button', { type: 'button', class: 'more', onclick: () => { ul.append(...rest.map(make)); more.remove(); } }, words);
  return [ul, more];
}

/** What to do: sentences, and commands as code. */
export const todo = (remedy) => [el('strong', { class: 'todo' }, 'what to do: '), remedy.split('; ').flatMap((r, i) => [i ? '; ' : '', /^(kerf|kubectl|aws) /.test(r) ? el('code', {}, r) : r])];

const classWords = (number) => { const c = model.classes[number]; return c ? `${c.namespace}/${c.name}` : 'pods'; };

/** Moves that differ in nothing but the node: many nodes are empty at once. */
function joined(moves) {
  const out = [], at = new Map();
  for (const m of moves) {
    const key = JSON.stringify([m.cause, m.begun, m.why, m.begins, m.new || []]);
    if (m.new?.length || !at.has(key)) { at.set(key, out.length); out.push({ ...m, nodes: [...m.nodes] }); continue; }
    const o = out[at.get(key)];
    o.nodes.push(...m.nodes); o.saving = (o.saving || 0) + (m.saving || 0); o.pods = (o.pods || 0) + (m.pods || 0);
  }
  return out;
}

export function panels({ openPod, openNode, openDecision }) {
  const d = model.doc;
  if (!d) return;
  const node = (name) => el('button', { type: 'button', class: 'link', onclick: () => openNode(name) }, name);
  const names = (all, most = 3) => [all.slice(0, most).flatMap((n, i) => [i ? ', ' : '', model.nodes.has(n) ? node(n) : n]), all.length > most ? ` and ${all.length - most} more` : ''];

  const why = (pod, wrong) => el('button', { type: 'button', class: 'link', onclick: () => openPod(pod, wrong) }, `Why, and what would help: ${pod}`);
  const wrong = problems();
  const linked = (p) => { // the text, with the name of its node as a link
    const [before, ...after] = p.kind === 'Node' && model.nodes.has(p.object) ? p.text.split(p.object) : [p.text];
    return after.length ? [before, node(p.object), after.join(p.object)] : before;
  };
  const card = (p) => el('li', { class: p.level },
    el('strong', {}, p.title), p.since ? el('span', { class: 'when' }, ` for ${ago(p.since)}`) : '', p.until ? el('span', { class: 'when' }, ' ', countdown(p.until), ` left, until ${clock(p.until)}`) : '',
    p.retryAt ? el('span', { class: 'when' }, ` · asked again at about ${clock(p.retryAt)} (in `, countdown(p.retryAt), ')') : '',
    p.text ? el('div', { class: 'text' }, linked(p)) : '', p.kind === 'Node' && model.nodes.has(p.object) && !p.text?.includes(p.object) ? el('div', {}, node(p.object)) : '',
    el('div', {}, todo(p.remedy)), p.kind === 'Pod' ? el('div', {}, why(p.object, p)) : '',
    p.follows.length ? [el('div', { class: 'so' }, 'what follows from it:'), el('ul', { class: 'follows' }, p.follows.map((f) => el('li', {},
      el('strong', {}, f.title), f.since ? el('span', { class: 'when' }, ` for ${ago(f.since)}`) : '',
      f.text && !p.text?.includes(f.text) ? el('div', { class: 'text' }, f.text) : '', f.kind === 'Pod' ? el('div', {}, why(f.object, p)) : '')))] : '');
  const over = (d.over || []).length ? [el('h3', {}, 'Past problems'), el('ul', { class: 'over' }, d.over.map((o) => el('li', {}, o.title, el('span', { class: 'when' }, ` · lasted ${ago(o.since, Date.parse(o.ended))}, until ${clock(o.ended)}`))))] : [];
  put('s-problems', [d.over, wrong.map((p) => [p.title, p.text, p.since && ago(p.since), p.until, p.retryAt, p.follows.map((f) => [f.title, f.text, f.since && ago(f.since)])])], () => [wrong.length === 0 ? none('None.') : list(wrong, card), ...over].flat());

  const taken = d.interruptions || [];
  document.getElementById('s-interruptions').hidden = taken.length === 0;
  put('s-interruptions', taken, () => list(taken, (i) => el('li', { class: i.from ? '' : 'warn' },
    el('strong', {}, interruptions[i.kind] || interruptions.other), i.work ? ` (${i.work})` : '', ' ', model.nodes.has(i.node) ? node(i.node) : i.node,
    i.until ? el('div', { class: 'clock' }, countdown(i.until), i.kind === 'maintenance' ? ` until AWS begins, ${date(i.until)}` : ` left until its pods have to be gone, ${clock(i.until)}`) : '',
    el('ol', { class: 'steps' }, steps(i).map(([words, state]) => el('li', { class: state, 'aria-current': state === 'now' ? 'step' : undefined }, words))))));

  const waiting = d.waiting;
  const reason = (w) => { // a problem that gives it is referred to
    const said = saidBy(w.why, wrong);
    return said ? ['see the problem: ', el('a', { class: 'link', href: '#s-problems' }, said.title)] : w.why || 'no decision has been made about them yet';
  };
  const refused = (w) => { // the node is not coming as things are
    const n = model.nodes.get(w.node), said = n?.state === 'launching' && wrongWith(n, wrong);
    return said ? ['; see the problem: ', el('a', { class: 'link', href: '#s-problems' }, said.title)] : '';
  };
  put('s-waiting', waiting.map((w) => [w.pod, w.node && !!refused(w), w.count, w.node, w.node && place(w, d.joining), w.why, ago(w.since), saidBy(w.why, wrong)?.title]), () => (waiting.length === 0 ? none('None.') : [
    list(waiting, (w) => el('li', { class: w.node ? '' : 'bad' },
      el('strong', {}, `${w.count} × ${classWords(w.class)}`), el('span', { class: 'when' }, ` for ${ago(w.since)}`),
      el('div', {}, w.node ? ['room is kept on ', model.nodes.has(w.node) ? node(w.node) : w.node, place(w, d.joining), refused(w)] : reason(w)),
      w.node ? '' : el('div', {}, why(w.pod, wrong.find((p) => [p, ...p.follows].some((x) => x.object === w.pod)))))),
    d.waitingMore ? el('p', { class: 'none' }, `and ${count(d.waitingMore, 'more pod')}`) : '']));

  const moves = joined(d.moves);
  put('s-moves', [moves, moves.map((m) => m.begun || begins(m, d.held))], () => (moves.length === 0 ? none('Nothing.') :
    list(moves, (m) => el('li', { class: m.begun ? 'busy' : '' },
      el('strong', {}, `${causes[m.cause] || m.cause}: ${count(m.nodes.length, 'node')}`, m.new?.length ? ` → ${count(m.new.length, 'new node')}` : ''),
      el('span', { class: 'when', title: m.begun || !m.begins ? undefined : `at ${clock(m.begins)}` }, ' ', m.begun ? 'under way' : begins(m, d.held)),
      el('div', {}, names(m.nodes), m.new?.length ? ` replaced by ${m.new.join(', ')}` : ''),
      el('div', {}, [m.why, !m.begun && m.waits, m.saving ? `saves ${perHour(m.saving)}` : '', m.pods ? `moves ${count(m.pods, 'pod')}` : ''].filter(Boolean).join('; '))), 5)));

  const f = freshFloor();
  put('s-savings', [d.bill, model.now.running === null, d.blocked, !waiting.length, f?.bound, f?.constraints, f?.error], () => {
    const rows = [];
    const row = (words, amount, detail, cls) => rows.push(el('tr', { class: cls }, el('td', {}, words, detail ? el('div', { class: 'detail' }, detail) : ''), el('td', { class: 'number' }, amount)));
    row('The nodes cost', model.now.running === null ? 'not known yet' : perHour(d.bill.running), `${d.bill.spot} spot, ${d.bill.onDemand} on-demand, ${d.bill.reserved} reserved`, 'total');
    if (d.bill.dear) row('Of that, more than usual', perHour(d.bill.dear), 'of nodes that were launched while cheaper capacity was refused; Kerf looks for cheaper nodes as capacity returns');
    if (f?.bound) {
      row('These pods can’t cost less than', perHour(f.bound), 'proved: on the cheapest instances that the NodePools allow, filled as well as can be', 'total');
      for (const c of f.constraints || []) row(['of that, ', el('code', {}, c.kind)], perHour(c.costs), `without it the floor would be lower: ${(c.named || []).join(', ')}${c.workloads > (c.named || []).length ? ` and ${c.workloads - (c.named || []).length} more` : ''}`);
    } else if (model.floor?.error) row('The floor could not be found', '', model.floor.error);
    else row('The least that these pods could cost is being found …', '', 'it changes with the pods');
    const sum = d.blocked.reduce((a, b) => a + b.saves, 0);
    const most = f?.bound && !waiting.length && !d.bill.unpriced ? Math.max(0, d.bill.running - f.bound) : sum; // nothing saves more than what the nodes cost above the floor
    if (d.blocked.length) row('Savings that are blocked', (sum > most ? 'at most ' : '') + perHour(Math.min(sum, most)), sum > most ? `each line below is counted by itself; together they can’t save more than what the nodes cost above the floor` : 'each counted by itself', 'total');
    for (const b of d.blocked.slice(0, 12)) row(b.text, perHour(b.saves), [count(b.count, 'node'), ': ', names(b.nodes), b.remedy ? el('div', {}, todo(b.remedy)) : '']);
    if (d.blocked.length > 12) row(`${d.blocked.length - 12} more reasons`, perHour(d.blocked.slice(12).reduce((a, b) => a + b.saves, 0)), 'kerf status --verbose lists them');
    return el('table', {}, el('tbody', {}, rows));
  });

  put('s-decisions', d.decisions, () => (d.decisions.length === 0 ? none('None is kept yet.') :
    list(d.decisions, (x) => el('li', { class: x.unplaced ? 'bad' : x.outcome?.refused ? 'warn' : '' },
      el('button', { type: 'button', class: 'link', onclick: () => openDecision(x.id) }, `${clock(x.at)}: ${decided(x)}`), ' ', el('code', { class: 'when', title: 'the decision-id of log lines; kerf explain decision takes it' }, x.id),
      x.repeated ? el('span', { class: 'when' }, ` said ${x.repeated + 1} times since ${clock(x.first)}`) : ''), 6)));

  put('s-aws', [d.closures, d.services, d.queue], () => {
    const items = [];
    if (d.queue) items.push(el('li', { class: d.queue.ready ? '' : 'warn' }, d.queue.ready ? `Notices of interruptions arrive by the queue ${d.queue.name}.` : [el('strong', {}, `The interruption queue ${d.queue.name} is not ready: `), d.queue.message || 'it has not been read yet']));
    else items.push(el('li', { class: 'warn' }, 'No interruption queue is set: spot instances end without warning. kerf stack writes one.'));
    const down = d.services.filter((s) => !s.answers);
    items.push(el('li', { class: down.length ? 'bad' : '' }, down.length ? `No answer: ${down.map((s) => s.name).join(', ')}.` : answering(d.services, d.queue)));
    for (const c of d.closures) items.push(el('li', { class: 'warn' }, `Not asked for now: ${count(c.count, ...(scopes[c.scope] || [c.scope]))}${c.capacityType ? ` (${c.capacityType})` : ''}: ${c.quotas?.map((q) => q.name).join(', ') || c.reason}${c.opens ? `; asked again from ${clock(c.opens)} on` : ''}`));
    if (!d.closures.length && !down.some((s) => s.name === 'ec2')) items.push(el('li', {}, 'No capacity is known to be short.'));
    return list(items, (x) => x);
  });

  const of = document.getElementById('events-of').value;
  const events = model.events.filter((e) => (of === 'warnings' ? e.warning : of === 'interruptions' ? e.interruption : true)).slice(0, 60);
  put('s-events', events, () => (events.length === 0 ? none('None.') :
    list(events, (e) => el('li', { class: e.warning ? 'warn' : '' },
      el('span', { class: 'when' }, clock(e.at) + ' '), el('strong', {}, e.reason), ` ${e.kind} `, model.nodes.has(e.object) ? node(e.object) : e.object, el('div', {}, e.message)), 12)));
}
const causes = { Empty: 'Empty', Underutilized: 'For less money', Drifted: 'Drifted', Draining: 'Draining', Interruption: 'Interrupted by AWS' };
const interruptions = { spot: 'Spot instance taken back:', rebalance: 'Likely to be taken back:', reservation: 'Capacity reservation taken back:', maintenance: 'Work is scheduled:', other: 'Interrupted:' };

const scopes = { pool: ['instance type in a zone', 'instance types in their zones'], policy: ['instance type in a zone', 'instance types in their zones'], quota: ['quota'], subnet: ['subnet'], 'capacity-type': ['capacity type'], class: ['EC2NodeClass', 'EC2NodeClasses'], 'placement-group': ['placement group'], zone: ['zone'] };

/** The figures at the top. */
export function figures() {
  const d = model.doc;
  if (!d) return;
  const set = (id, words) => { const e = document.getElementById(id); if (e.textContent !== words) e.textContent = words; };
  const { nodes, pods, waiting } = model.now;
  set('cluster', d.cluster);
  set('where', [d.region, d.account && `account ${d.account}`].filter(Boolean).join(' · '));
  const priced = model.now.running !== null;
  set('f-month', priced ? perMonth(d.bill.running) : '…');
  set('f-cost', priced ? perHour(d.bill.running) : '…');
  const floor = floorWords(model.doc.bill.unpriced ? null : model.now.running, freshFloor(), model.floor);
  set('f-floor', floor.floor);
  set('f-gap', floor.gap);
  document.getElementById('f-floor').title = floor.title;
  for (const id of ['f-floor', 'f-gap']) document.getElementById(id).classList.toggle('soon', floor.soon);
  set('f-nodes', nodes.toLocaleString('en') + (model.nodes.size > nodes ? ` + ${model.nodes.size - nodes}` : ''));
  set('f-pods', pods.toLocaleString('en'));
  set('f-waiting', waiting.toLocaleString('en'));
  document.getElementById('f-waiting').className = d.waiting.some((w) => !w.node) && !started(problems()) ? 'bad' : waiting ? 'warn' : '';
  document.body.dataset.wrong = problems().length ? 'yes' : 'no';
  health();
}

/** The pill, and the title of the page: how the cluster is, as long as that is known. */
export function health() {
  const d = model.doc, old = stale(model.heardAt, model.failed), pill = document.getElementById('health');
  if (!d && !old) return;
  const wrong = problems(), words = old || verdict(wrong, model.now.waiting, d.joining);
  if (pill.textContent !== words) pill.textContent = words;
  pill.className = 'pill ' + (old || wrong.some((p) => p.level === 'bad') ? 'bad' : wrong.length ? 'warn' : 'good');
  if (d) document.title = [words === 'all well' ? '' : words, model.now.running === null ? '' : perHour(d.bill.running), d.cluster, 'kerf'].filter(Boolean).join(' · ');
}
export { money };
