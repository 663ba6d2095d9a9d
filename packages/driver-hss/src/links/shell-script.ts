/** What every answer line begins with, followed by the id of its request. */
export const ANSWER_MARK = 'steeple-answer:'

/** A shell without a request for so long ends by itself, ms: its other end is gone. */
const IDLE_MS = 60_000

/**
 * What mongosh runs: reads requests from its standard input, one canonical EJSON line each, and writes one line for
 * each. It is the same for every call: no value of a subscriber is ever a part of it or of a command line.
 */
export const SHELL_SCRIPT: string = `
const fs = require('fs');
const clock = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms) => { Atomics.wait(clock, 0, 0, ms); };
const chunk = Buffer.alloc(262144);
let held = [];
const attempt = (work) => { try { return work(); } catch (e) { if (e.code === 'EAGAIN') return -1; if (e.code === 'EOF') return 0; throw e; } };
const readLine = () => {
  let waited = 0;
  for (;;) {
    const last = held.length === 0 ? undefined : held[held.length - 1];
    const end = last === undefined ? -1 : last.indexOf(10);
    if (end >= 0) {
      const line = Buffer.concat([...held.slice(0, -1), last.subarray(0, end)]).toString('utf8');
      held = end + 1 < last.length ? [Buffer.from(last.subarray(end + 1))] : [];
      return line;
    }
    const count = attempt(() => fs.readSync(0, chunk, 0, chunk.length, null));
    if (count === 0) return undefined;
    if (count > 0) { held.push(Buffer.from(chunk.subarray(0, count))); waited = 0; continue; }
    const wait = waited < 200 ? 2 : 20;
    if (waited > ${IDLE_MS}) return undefined;
    pause(wait);
    waited += wait;
  }
};
const writeLine = (text) => {
  const bytes = Buffer.from(text + '\\n', 'utf8');
  let at = 0;
  while (at < bytes.length) {
    const count = attempt(() => fs.writeSync(1, bytes, at));
    if (count < 0) pause(2); else at += count;
  }
};
for (;;) {
  const line = readLine();
  if (line === undefined) break;
  const request = EJSON.parse(line, { relaxed: false });
  let answer;
  try {
    const target = db.getSiblingDB(request.database).getCollection(request.collection);
    if (request.op === 'find') {
      answer = { docs: target.find(request.filter, request.projection, { promoteValues: false, promoteLongs: false }).limit(Number(request.limit)).toArray() };
    } else if (request.op === 'count') {
      answer = { count: target.countDocuments(request.filter) };
    } else if (request.op === 'write') {
      answer = { failures: [] };
      try {
        target.bulkWrite(request.ops, { ordered: false });
      } catch (e) {
        const list = e.writeErrors === undefined ? [] : [e.writeErrors].flat();
        if (list.length === 0) throw e;
        answer = { failures: list.map((entry) => ({ index: entry.index, code: entry.code })) };
      }
    } else if (request.op === 'drop') {
      answer = { ok: target.drop() };
    } else {
      target.createIndex(request.keys, { unique: request.unique });
      answer = { ok: true };
    }
  } catch (e) {
    answer = { error: { name: String(e.name), code: typeof e.code === 'number' ? e.code : 0 } };
  }
  writeLine('${ANSWER_MARK}' + request.id + ':' + EJSON.stringify(answer, { relaxed: false }));
}
process.exit(0);
`
