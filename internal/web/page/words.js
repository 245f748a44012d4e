// What the page says, of what it knows: functions of their arguments alone.

import { ago, count, date, percent, perHour, until } from './format.js';

/** Whether Kerf has just started: what is wrong, and what things cost, may not be known yet. */
export const started = (problems) => problems.some((p) => p.code === 'KerfStarts');

/** The few words at the top; kerf status says the same (Verdict). problems are leveled; joining are instances that have not joined. */
export function verdict(problems, waiting, joining, now = Date.now()) {
  const bad = problems.filter((p) => p.level === 'bad').length, warnings = problems.length - bad;
  if (bad) return count(bad, 'problem');
  if (started(problems)) return 'just started' + (waiting ? `, ${count(waiting, 'pod waits', 'pods wait')}` : '');
  const late = joining ? ` for ${ago(joining.since, now)}${joining.usual ? ` (usually ${joining.usual} s)` : ''}` : '';
  const way = waiting ? `, ${count(waiting, 'pod')} on the way${late}` : '';
  return (warnings ? count(warnings, 'warning') : 'all well') + way;
}

/** What pods wait for that have a place: on which nodes, and for how long the oldest instance has not joined. */
export function place(w, joining, now = Date.now()) {
  const more = w.nodes > 1 ? ` and ${w.nodes - 1} more` : '';
  if (!joining) return more;
  const which = joining.count === 1 ? 'an instance has' : `${joining.count} instances have`;
  return `${more}; ${which} not joined for ${ago(joining.since, now)}${joining.usual ? `: ${joining.usual} s are usual here` : ''}`;
}

/** What is wrong with a node or with its NodeClaim; undefined where nothing is. */
export const wrongWith = (n, problems) => problems.flatMap((p) => [p, ...p.follows]).find((p) => (p.kind === 'Node' ? p.object === n.name : p.kind === 'NodeClaim' && n.claim && (p.object === n.claim || p.others?.includes(n.claim))));

/** When a move begins that is found and has not begun. held: until when moves of pods are paused. */
export function begins(m, held, now = Date.now()) {
  if (held && m.cause !== 'Empty') return 'found, and paused';
  if (!m.begins) return 'found, begins as soon as it has its turn';
  const left = until(m.begins, now);
  return left ? `found, begins in ${left} if that stays so` : 'found, begins as soon as it has its turn';
}

/** The services of AWS that answer, in a sentence. One whose queue is not ready is left out: its line says what it answers. */
export function answering(services, queue) {
  const refuses = queue && !queue.ready, all = services.filter((s) => !(refuses && s.name.toLowerCase() === 'sqs'));
  if (!all.length) return 'No service was called yet.';
  return `${count(all.length, refuses ? 'other service' : 'service')} called, and all answer: ${all.map((s) => s.name).join(', ')}.`;
}

/** After how many milliseconds without an answer the page is stale though nothing failed: two polls of a large cluster, and time for slow answers. */
const staleAfter = 12000;

/** How old what the page shows is, in few words, where it is not of now: no answer came for a while, or the last call failed. Empty while it is of now. */
export function stale(heardAt, failed, now = Date.now()) {
  if (!heardAt) return failed ? 'not connected' : '';
  return failed || now - heardAt > staleAfter ? `no data for ${ago(heardAt, now)}` : '';
}

/** The figures of the floor: fresh is for the pods of now, known may be an older one, which says nothing of them; either may be null. running is null where it is not known what all nodes cost. soon: it is being found. */
export function floorWords(running, fresh, known, now = Date.now()) {
  const paid = running === null ? null : fresh?.running ?? running; // of the same moment as the floor
  if (fresh) return { floor: perHour(fresh.bound), gap: paid === null || !fresh.bound ? '…' : percent(Math.max(0, paid / fresh.bound - 1)), title: '', soon: false };
  if (known?.bound) return { floor: '…', gap: '…', title: `${perHour(known.bound)} for the pods of ${ago(known.at, now)} ago; for those of now it ${known.error ? `could not be found: ${known.error}` : 'is being found'}`, soon: true };
  return { floor: '…', gap: '…', title: known?.error ? `It could not be found: ${known.error}` : 'It is being found', soon: true };
}

/** What happens to the pods of an interrupted node, as steps with their state: done, now, or next. */
export function steps(i) {
  if (i.from) return [[`${count(i.pods, 'pod')} ${i.pods === 1 ? 'moves' : 'move'} from ${date(i.from)} on`, 'next']];
  const evicted = i.pods === 0 && i.waiting > 0; // before their new node was ready
  const at = evicted ? 1 : i.pods === 0 ? 3 : { sought: 0, coming: 1, ready: 2 }[i.room] ?? 0; // the step that is under way
  const all = [ // to come, now, done
    ['', 'room elsewhere is looked for', 'room elsewhere is found'],
    ['a node that replaces it starts', 'the node that replaces it starts', 'the room is ready'],
    [evicted ? `its pods were evicted; ${count(i.waiting, 'pod')} created since ${i.waiting === 1 ? 'waits' : 'wait'}` : `${count(i.pods, 'pod')} to move`, `its pods move: ${i.pods} left`, 'all its pods have moved'],
  ];
  return all.map((words, k) => (k < at ? [words[2], 'done'] : k === at ? [words[1], 'now'] : [words[0], 'next']));
}

/** A list's items that are shown, those behind the button, and what the button says; nothing is behind it where all are shown. */
export function capped(items, first) {
  const rest = items.slice(first);
  return { shown: items.slice(0, first), rest, more: rest.length ? `Show ${rest.length} more` : '' };
}

/** The problem, or what follows from one, that gives the reason why pods wait word for word; undefined for none. */
export const saidBy = (why, problems) => (why ? problems.flatMap((p) => [p, ...p.follows]).find((p) => p.text === why) : undefined);

/** What was decided, and what became of it. */
export function decided(x) {
  const words = [], o = x.outcome || {};
  const became = [[o.launched, 'launched'], [o.asked, 'asked for now'], [o.refused, `refused${o.why ? `: ${o.why}` : ''}`], [o.ended, 'ended since']].filter(([n]) => n).map(([n, what]) => `${n} ${what}`);
  if (x.newNodes) words.push(`launch ${count(x.newNodes, 'node')} for ${perHour(x.price)}${became.length ? ` (${became.join(', ')})` : ''}`);
  if (x.placed) words.push(`place ${count(x.placed, 'pod')} on nodes that exist`);
  if (x.unplaced) words.push(`${count(x.unplaced, 'pod')} without a place`);
  const moved = [[x.done, 'done'], [x.givenUp, `given up: ${x.why}`]].filter(([n]) => n).map(([n, what]) => `${n} ${what}`);
  if (x.moves) words.push(`begin to remove or replace: ${count(x.moves, 'move')}${moved.length ? ` (${moved.join(', ')})` : ''}`);
  return words.join(', ') || 'nothing to do';
}
