// Runs test files in child processes of Node: one each, or many in one (see worker.mjs).
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { availableParallelism, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderOf, root } from '../workspace.mjs'

const isSeeded = process.env.SVC_TEST_SEED !== undefined
/** For a file that is alone; a worker does so for each package. */
const SEED = isSeeded ? ['--import', join(root, 'scripts/tests/seed.mjs')] : []
const COST = ['--import', join(root, 'scripts/tests/cost.mjs')]
// What the process before has compiled is not compiled again; the service under test saves a tenth of its start.
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/tests') }
/** How long a file may take in a process of its own, and how long a worker may be silent. They end what hangs. */
const ALONE_LIMIT_MS = 30 * 60_000 * Math.max(1, Number(process.env.SVC_TEST_TIMES ?? 1))
const SILENCE_LIMIT_MS = 10 * 60_000
const HURRIED_NICE = -15
const KEPT_OUTPUT = 200_000
/** MB. A worker makes much that lives for one test: with more room for what is young, it is copied less often. */
const ROOM = ['--min-semi-space-size=32', '--max-semi-space-size=64']
/** Where Linux keeps files in memory, and how much has to be free there: containers often give it 64 MB. */
const MEMORY = '/dev/shm'
const MEMORY_NEEDED = 2 ** 30

/** Does all of `jobs`, functions, `count` at a time, in their order. */
export async function inLanes(jobs, count) {
  const queue = [...jobs]
  const next = async () => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) await job()
  }
  await Promise.all(Array.from({ length: count }, next))
}

/** A job for each file that runs it in a process of its own. `files`: `{ name, file }`. */
export function alone(files, report) {
  return files.map((one) => async () => report(pathOf(one), await runFile(one)))
}

/** Run at a raised priority: radios, of whose last sample something is said, and what measures how long answers take under attack. */
function isAboutTime(name, file) {
  return name === 'driver-ran' || (name === 'e2e' && /\/(attack|disarm)\./.test(file))
}

async function runFile({ name, file }) {
  const begun = performance.now()
  const child = start(folderOf(name), [...SEED, ...COST, file], COMPILE_CACHE)
  if (isAboutTime(name, file)) child.hurry()
  let output = ''
  const take = (text) => {
    output = (output + text).slice(-KEPT_OUTPUT)
  }
  child.onOutput(take, take)
  const timer = setTimeout(() => {
    output += `\nended after ${ALONE_LIMIT_MS / 1000} s`
    child.kill()
  }, ALONE_LIMIT_MS)
  const code = await child.ended
  clearTimeout(timer)
  return { code, output, seconds: (performance.now() - begun) / 1000 }
}

/** Workers for files of many packages: a good part of what tests take is waiting. */
export const WORKERS_TOGETHER = 3 * availableParallelism()

/**
 * Runs files, `{ name, file }`, in up to `count` workers, the largest first: a long one begun last would run on alone. Each worker has
 * packages of its own, so that most of what they load is loaded once, and then takes from what the others have not begun.
 */
export async function runTogether(files, count, report) {
  const shares = Array.from({ length: Math.min(count, files.length) }, () => ({ bytes: 0, files: [] }))
  const bytesOf = (paths) => paths.reduce((sum, path) => sum + sizeOf(path), 0)
  const packages = [...Map.groupBy(files, ({ name }) => name).values()]
    .map((own) => own.map(pathOf).toSorted((a, b) => sizeOf(b) - sizeOf(a)))
    .toSorted((a, b) => bytesOf(b) - bytesOf(a))
  for (const own of packages) {
    const least = shares.reduce((a, b) => (b.bytes < a.bytes ? b : a))
    least.bytes += bytesOf(own)
    least.files.push(...own)
  }
  const worker = (share, claims) => {
    const others = shares.filter((one) => one !== share).flatMap((one) => one.files)
    return workThrough([...share.files, ...others.reverse()], claims, report)
  }
  await withClaims((claims) => Promise.all(shares.map((share) => worker(share, claims))))
}

/** As the workers know a file: from the root. */
function pathOf({ name, file }) {
  return join(folderOf(name), file)
}

function sizeOf(path) {
  return statSync(join(root, path)).size
}

async function withClaims(work) {
  const claims = mkdtempSync(join(tmpdir(), 'steeple-tests-'))
  try {
    await work(claims)
  } finally {
    rmSync(claims, { recursive: true, force: true })
  }
}

/** A worker, and another one for the rest where a file took it along. */
async function workThrough(files, claims, report) {
  while (true) {
    const unfinished = await work(files, claims, report)
    if (unfinished === undefined) return
    report(unfinished.file, { ...unfinished, code: 1 })
    if (unfinished.isLast) return
  }
}

/** Undefined when the worker ended as it should; else the file that it ended in, with what was printed. */
async function work(files, claims, report) {
  const more = { ...COMPILE_CACHE, ...temporary() }
  const child = start('.', [...ROOM, join(root, 'scripts/tests/worker.mjs'), claims, ...files], more)
  const reader = markReader((told, output) =>
    report(told.file, { code: told.code, output, seconds: told.ms / 1000 }),
  )
  let isSilent = false
  const silence = setTimeout(() => {
    isSilent = true
    child.kill()
  }, SILENCE_LIMIT_MS)
  child.onOutput(
    (text) => {
      silence.refresh()
      reader.out(text)
    },
    (text) => reader.problem(text),
  )
  const code = await child.ended
  clearTimeout(silence)
  const { current, last, text, begunMs } = reader.rest()
  if (current === undefined && code === 0) return undefined
  const why = isSilent ? `ended after ${SILENCE_LIMIT_MS / 1000} s without a word` : `it ended with ${code}`
  return {
    file: current ?? `${last ?? files[0]} or one before it, which left something open or threw late`,
    isLast: current === undefined,
    output: `${text}\n${why}`,
    seconds: (performance.now() - begunMs) / 1000,
  }
}

/** Files of these tests outlive no test: where there is room they are kept in memory, since a disk makes each commit wait. */
function temporary() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize < MEMORY_NEEDED ? {} : { TMPDIR: MEMORY }
  } catch {
    return {}
  }
}

/** Tells the files of a worker's output apart by its marks. */
function markReader(onEnd) {
  let current
  let last
  let text = ''
  let problems = ''
  let begunMs = performance.now()
  return {
    problem: (more) => {
      problems = (problems + more).slice(-KEPT_OUTPUT)
    },
    out: (more) => {
      text += more
      for (let mark = nextMark(text); mark !== undefined; mark = nextMark(text)) {
        text = mark.after
        if (mark.kind === 'begin') {
          current = mark.told.file
          begunMs = performance.now()
          continue
        }
        last = current
        current = undefined
        onEnd(mark.told, mark.before + problems)
        problems = ''
      }
      text = text.slice(-KEPT_OUTPUT)
    },
    rest: () => ({ current, last, text: text + problems, begunMs }),
  }
}

function nextMark(text) {
  const found = /\n@@(begin|end) (\{.*\})\n/.exec(text)
  if (found === null) return undefined
  const [whole, kind, told] = found
  return {
    kind,
    told: JSON.parse(told),
    before: text.slice(0, found.index),
    after: text.slice(found.index + whole.length),
  }
}

/** A Node in a folder of the workspace. `ended` gives its exit code; a signal counts as 1. */
function start(folder, args, more) {
  const child = spawn(process.execPath, ['--no-warnings', ...args], {
    cwd: join(root, folder),
    env: { ...process.env, ...more, FORCE_COLOR: '0', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.setEncoding('utf8')
  child.stderr.setEncoding('utf8')
  return {
    pid: child.pid,
    onOutput: (out, problem) => {
      child.stdout.on('data', out)
      child.stderr.on('data', problem)
    },
    kill: () => child.kill('SIGKILL'),
    hurry: () => {
      try {
        setPriority(child.pid, HURRIED_NICE)
      } catch {
        // Only root may.
      }
    },
    ended: new Promise((resolve) => child.on('close', (code) => resolve(code ?? 1))),
  }
}
