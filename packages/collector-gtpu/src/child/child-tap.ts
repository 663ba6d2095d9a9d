import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, constants, existsSync, fstatSync, openSync, rmSync, type Stats } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { backoffMs, type Clock, type Log, southboundUnavailable } from '@steeple/contracts'
import { inGroups, safeText } from '@steeple/telecom'
import { type CounterReading, readCounters, readWrites } from '../counters/counter-file.ts'
import { countersFrom } from '../counters/tally.ts'
import { confined, ownConfinement, type Right, SYSTEM_PATH } from '../rights.ts'
import {
  listed,
  NO_PACKETS,
  type TapCounter,
  type TapSnapshot,
  type TapState,
  type TapStats,
  type UpfTap,
} from '../upf-tap.ts'
import { DAMAGED_STATUS, type TapOrder } from './order.ts'

/** The service waits for nobody here: to open a pipe that nobody writes would hold all of it. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/** The capture of `collector.upf.file`, open for reading. Throws an Error that says what is wrong with it and what to do. */
function openCapture(path: string): number {
  const file = opened(path)
  const stat = fstatSync(file)
  if (stat.isFile()) return file
  closeSync(file)
  throw new Error(
    `collector.upf.file is no file but a ${kindOf(stat)}: name a capture that lies on a disk (.pcap, .pcapng)`,
  )
}

function opened(path: string): number {
  try {
    return openSync(path, FLAGS)
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown } // a text or nothing
    throw new Error(
      `collector.upf.file cannot be read (${String(code)}): name a capture that this service may read`,
      { cause: error },
    )
  }
}

function kindOf(stat: Stats): string {
  if (stat.isFIFO()) return 'pipe'
  return stat.isDirectory() ? 'directory' : 'device'
}

interface TapChildOptions {
  readonly order: TapOrder
  readonly right: Right | undefined
  /** Its descriptors from 3 on, that stay open. */
  readonly files: readonly number[]
  /** A file that it reads, opened anew at each start; undefined when there is none. */
  readonly input: string | undefined
  /** Counts upwards as long as the child lives and works; undefined before its first sign of life. */
  readonly beat: () => number | undefined
  readonly clock: Clock
  readonly log: Log
  /** The program; the one beside this file when absent. */
  readonly program?: string
}

const RESTART = { firstMs: 500, longestMs: 60_000 }
/** A child that ran so long has recovered. */
const RECOVERED_MS = 60_000
/** Without a sign of life for so long it hangs: it gives one each second, also while packets keep coming. */
const HANG_MS = 20_000
/** How long it may take to end by itself. */
const END_BOUND_MS = 2_000
/** MiB of JavaScript heap; 65,536 addresses need a tenth. */
const HEAP_MIB = 128
const WORDS_CHARACTERS = 1_000

/** A child that is kept alive. Starts nothing before the first tick. */
class TapChild {
  readonly #options: TapChildOptions
  #child: ChildProcess | undefined
  #ended: Promise<void> = Promise.resolve()
  #failures = 0
  #startedMs = 0
  #dueMs = 0
  #beat: number | undefined
  #beatMs = 0
  #isWorking = false
  /** Why it is away; its last words. */
  #away: string | undefined
  #isOver = false

  constructor(options: TapChildOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** It has given a sign of life since it was started, as of the last tick. */
  get isWorking(): boolean {
    return this.#child !== undefined && this.#isWorking
  }

  /** Starts it when it is due, ends it when it hangs. Called about every second. */
  tick(): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#child === undefined) {
      if (!this.#isOver && nowMs >= this.#dueMs) this.#start(nowMs)
      return
    }
    const beat = this.#options.beat()
    if (beat !== this.#beat) {
      this.#beat = beat
      this.#beatMs = nowMs
      this.#isWorking = true
      if (nowMs - this.#startedMs > RECOVERED_MS) this.#failures = 0
    }
    // A capture that lies there and does not grow needs no sign of life.
    if (this.#options.order.driver === 'file' || nowMs - this.#beatMs < HANG_MS) return
    this.#options.log.error({ pid: this.#child.pid }, 'tap process hangs; it is killed')
    this.#away = `it gave no sign of life for ${HANG_MS / 1_000} s`
    this.#child.kill('SIGKILL')
  }

  state(): TapState {
    const pid = inGroups(this.#child?.pid ?? 0)
    if (this.#child !== undefined && this.#failures === 0) return { status: 'ok', detail: `pid ${pid}` }
    if (this.#child !== undefined)
      return { status: 'degraded', detail: `pid ${pid}, started again: ${this.#away}` }
    if (this.#away === undefined) return { status: 'ok', detail: 'not started yet' }
    return { status: this.#isOver ? 'degraded' : 'down', detail: this.#away }
  }

  /** Lets it write what it has and end. */
  async end(): Promise<void> {
    this.#isOver = true
    const child = this.#child
    if (child === undefined) return
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), END_BOUND_MS)
    await this.#ended
    clearTimeout(late)
  }

  #start(nowMs: number): void {
    let input: number | undefined
    try {
      input = this.#options.input === undefined ? undefined : openCapture(this.#options.input)
    } catch (error) {
      this.#restartLater(safeText(error))
      return
    }
    this.#spawn(nowMs, input === undefined ? [] : [input])
    // The child has it by now.
    if (input !== undefined) closeSync(input)
  }

  #spawn(nowMs: number, inputs: readonly number[]): void {
    const { order, right, files, program = programFile() } = this.#options
    const { file, args } = confined(
      {
        file: process.execPath,
        args: [`--max-old-space-size=${HEAP_MIB}`, program, JSON.stringify(order)],
      },
      { right, reads: [program], ...ownConfinement() },
    )
    const child = spawn(file, args, {
      cwd: '/',
      env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
      stdio: ['pipe', 'ignore', 'pipe', ...files, ...inputs],
    })
    this.#child = child
    this.#isWorking = false
    this.#startedMs = nowMs
    this.#beatMs = nowMs
    this.#beat = this.#options.beat()
    let words = ''
    child.stdin?.on('error', () => undefined)
    child.stderr?.on('data', (chunk: Buffer) => {
      if (words.length < WORDS_CHARACTERS) words += chunk.toString('utf8').slice(0, WORDS_CHARACTERS)
    })
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => {
        words = error.message
        if (child.pid === undefined) resolve(this.#gone(`setpriv: ${safeText(error)}`, undefined))
      })
      child.on('close', (code, signal) => {
        const how = signal === null ? `it ended with ${code}` : `it was ended by ${signal}`
        resolve(this.#gone(words.trim() === '' ? how : safeText(words.trim().split('\n').at(-1)), code))
      })
    })
  }

  #gone(words: string, code: number | undefined | null): void {
    if (this.#child === undefined) return
    this.#child = undefined
    if (this.#isOver) return
    if (code !== DAMAGED_STATUS) {
      this.#restartLater(words)
      return
    }
    this.#away = words
    this.#isOver = true
    this.#options.log.error({ reason: words }, 'capture is read no further')
  }

  #restartLater(words: string): void {
    const { clock, log } = this.#options
    this.#away = words
    this.#failures += 1
    const delayMs = backoffMs(RESTART, this.#failures)
    this.#dueMs = clock.monotonicMs() + delayMs
    log.error({ reason: words, failures: this.#failures, delayMs }, 'tap process ended; it is started again')
  }
}

/** The program beside this file: in the sources, and in a build. */
function programFile(): string {
  const isSource = import.meta.url.endsWith('.ts')
  return fileURLToPath(new URL(isSource ? './tap-main.ts' : './tap-main.js', import.meta.url))
}

export interface ChildTapOptions {
  readonly order: TapOrder
  /** Folder on a tmpfs for the counters; only the service can enter it. */
  readonly folder: string
  /** Capture of the driver `file`. */
  readonly capture: string
  readonly clock: Clock
  readonly log: Log
  /** The child's program; that of this build, or of the sources, when absent. */
  readonly program?: string
}

/** A tap that must be looked after. */
export interface ChildTap extends UpfTap {
  /** Called about every second. */
  tick(): void
  readonly pid: number | undefined
  /** The present child has begun to count, as of the last tick. */
  readonly isWorking: boolean
}

/** A child that has written nothing for so long, since it was read, is not counting. */
const SILENT_MS = 5_000

/**
 * Reads what a child counts from the files that it writes, so that a child which hangs or has died can be read too. The
 * next child, of this service or of the next, goes on with its counters.
 */
export function createChildTap(options: ChildTapOptions): ChildTap {
  const { order, folder, capture, clock, log } = options
  const names = [`${folder}/counters-0`, `${folder}/counters-1`] as const
  const open = (name: string): number =>
    openSync(name, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  const counters = [open(names[0]), open(names[1])] as const
  const reading = (): CounterReading | undefined => readCounters(counters)
  // Of a capture whatever is in it counts, whoever has read it before.
  const older = order.driver === 'pcap' ? reading()?.generation : undefined
  const child = new TapChild({
    order,
    right: order.driver === 'pcap' ? 'net_raw' : undefined,
    files: counters,
    input: order.driver === 'file' ? capture : undefined,
    beat: () => readWrites(counters),
    clock,
    log,
    ...(options.program === undefined ? {} : { program: options.program }),
  })
  child.tick()
  let stats: TapStats = NO_PACKETS
  let given: number | undefined
  let givenMs = 0
  /** What a child that is away has counted is given once; after that nothing is known until one is back. */
  const give = (writes: number, { status, detail }: TapState): void => {
    const nowMs = clock.monotonicMs()
    if (writes !== given) {
      given = writes
      givenMs = nowMs
    } else if (status === 'down') throw southboundUnavailable(`the tap process is away: ${detail}`)
    else if (order.driver === 'pcap' && nowMs - givenMs > SILENT_MS)
      throw southboundUnavailable('the tap process gives no sign of life')
  }
  return {
    get pid() {
      return child.pid
    },
    get isWorking() {
      return child.isWorking
    },
    tick: () => child.tick(),
    snapshot: async () => {
      if (order.driver === 'file' && !existsSync(capture))
        throw southboundUnavailable('the capture of collector.upf.file is not there any more')
      const state = child.state()
      const found = reading()
      // What the service before has left is given with what the child that goes on with it says; of a capture nothing is known
      // before all of it is read: less than before would be taken for another counter.
      const isBeginning = given === undefined && !child.isWorking && state.status === 'ok'
      if (found === undefined || !found.header.isAtEnd || isBeginning)
        throw southboundUnavailable(state.status === 'ok' ? 'the tap has just begun to read' : state.detail)
      give(found.header.writes, state)
      stats = found.header
      return await snapshotOf(found, order, found.generation === older, clock.nowMs())
    },
    stats: () => stats,
    state: () => stateOf(child.state(), order),
    close: async (keep) => {
      await child.end()
      for (const file of counters) closeSync(file)
      if (!keep) rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function snapshotOf(
  { generation, header, rows }: CounterReading,
  { driver }: TapOrder,
  isOlder: boolean,
  nowMs: number,
): Promise<TapSnapshot> {
  const isLive = driver === 'pcap'
  const { sinceMs, writtenMs } = header
  return {
    generation,
    isOlder,
    // Of the machine's clock, which the service may not believe, how long it has counted is all that is taken.
    sinceMs: isLive ? nowMs - Math.max(0, writtenMs - sinceMs) : sinceMs,
    atMs: nowMs,
    counters: await listed(isLive ? withoutTimes(countersFrom(rows)) : countersFrom(rows)),
    isFinal: false,
    lost: header.dropped + header.unmatched + header.missed,
    began: 0,
    carried: 0,
  }
}

/** The kernel stamps packets by the machine's clock, too; those of a capture are what is known of it. */
function* withoutTimes(counters: Iterable<TapCounter>): Iterable<TapCounter> {
  for (const { address, upBytes, downBytes } of counters) yield { address, upBytes, downBytes }
}

function stateOf(state: TapState, { driver, iface }: TapOrder): TapState {
  return state.status === 'ok'
    ? { status: 'ok', detail: driver === 'file' ? 'the capture is read' : `looks at ${iface}` }
    : state
}
