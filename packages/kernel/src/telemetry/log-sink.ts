import { write, writeSync } from 'node:fs'

/** The last lines of something, as many as fit. */
interface LineRing {
  /** `order` grows with each line of all rings, so that lines of several can be put together. */
  add(order: number, line: string): void
  /** The oldest first. */
  lines(): readonly (readonly [order: number, line: string])[]
}

/** A line of more octets than this is kept without its end. */
const LONGEST_LINE = 16_384

/** A ring that holds at most so many octets: copies, as a part of a text keeps the whole of it in memory. */
export function createLineRing(mostOctets: number): LineRing {
  const held: (readonly [order: number, line: Buffer])[] = []
  let octets = 0
  return {
    add: (order, line) => {
      const copy = Buffer.allocUnsafeSlow(Math.min(Buffer.byteLength(line), LONGEST_LINE))
      // Characters are written as a whole: up to three octets may be left over.
      const kept = copy.subarray(0, copy.write(line))
      if (kept.length > mostOctets) return
      held.push([order, kept])
      octets += kept.length
      while (octets > mostOctets) octets -= held.shift()?.[1].length ?? 0
    },
    lines: () => held.map(([order, line]) => [order, line.toString()]),
  }
}

/** What is kept of each kind: many requests must not push out the one warning that tells why. */
const KEPT = { request: 131_072, calm: 262_144, urgent: 262_144 } as const

/** The last lines of the log. */
export interface RecentLines {
  add(kind: keyof typeof KEPT, line: string): void
  /** In the order in which they were written. */
  lines(): readonly string[]
}

/** Keeps the last 128 KiB of requests, and 256 KiB each of warnings and errors and of the rest. */
export function createRecentLines(): RecentLines {
  const rings = {
    request: createLineRing(KEPT.request),
    calm: createLineRing(KEPT.calm),
    urgent: createLineRing(KEPT.urgent),
  }
  let order = 0
  return {
    add: (kind, line) => rings[kind].add(order++, line),
    lines: () =>
      Object.values(rings)
        .flatMap((ring) => ring.lines())
        .toSorted(([a], [b]) => a - b)
        .map(([, line]) => line),
  }
}

/** Where lines go: whole lines, each with its newline. */
export interface LogSink {
  write(line: string): void
  /** Writes what is held before it returns. */
  flush(): void
  close(): void
}

/** Lines are collected up to this many characters; a write per line costs more than the line. */
const MIN_WRITE_LENGTH = 16_384
/** A reader that has stopped must not fill the memory; lines beyond this are dropped. */
const MAX_HELD_LENGTH = 8_388_608
/** A line is seen at most this late. */
const FLUSH_MS = 250
/** Writing goes on after these: the reader is slow, or the disk is full and will have room again. */
const PASSING: ReadonlySet<string> = new Set(['EAGAIN', 'EBUSY', 'EINTR', 'ENOSPC', 'EDQUOT'])
/** A flush waits this long at most for a reader that is slow. */
const FLUSH_TRIES = 50
const PAUSE_MS = 10

/**
 * Standard output, or the file descriptor given: collected, written in the background, flushed at exit.
 *
 * Neither a reader that went away nor a full disk ends or stops the service; what a full disk refused is written when
 * there is room again, as far as it was held.
 */
export function stdoutSink(fd = 1): LogSink {
  const sink = new FileSink(fd)
  process.on('exit', sink.flush)
  return {
    write: (line) => sink.write(line),
    flush: sink.flush,
    close: () => {
      sink.close()
      process.off('exit', sink.flush)
    },
  }
}

class FileSink {
  readonly #fd: number
  readonly #timer = setInterval(() => this.#start(), FLUSH_MS).unref()
  #held: string[] = []
  #heldLength = 0
  /** Bytes that were taken from `#held` and are not written yet. */
  #rest: Buffer = Buffer.alloc(0)
  #isWriting = false
  #isBroken = false
  #isClosed = false

  constructor(fd: number) {
    this.#fd = fd
  }

  write(line: string): void {
    if (this.#isBroken || this.#heldLength + this.#rest.length > MAX_HELD_LENGTH) return
    this.#held.push(line)
    this.#heldLength += line.length
    if (this.#isClosed) this.flush()
    else if (this.#heldLength >= MIN_WRITE_LENGTH) this.#start()
  }

  flush = (): void => {
    for (let tries = FLUSH_TRIES; tries > 0 && !this.#isBroken && this.#take(); ) {
      try {
        this.#rest = this.#rest.subarray(writeSync(this.#fd, this.#rest))
      } catch (error) {
        this.#fail(error)
        if (isFull(error)) return
        tries--
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
      }
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#isClosed = true
    this.flush()
  }

  /** Begins to write what is held unless that goes on already. */
  #start(): void {
    if (this.#isWriting || this.#isBroken || !this.#take()) return
    this.#isWriting = true
    const bytes = this.#rest
    this.#rest = Buffer.alloc(0)
    write(this.#fd, bytes, (error, written) => {
      this.#isWriting = false
      this.#rest = Buffer.concat([bytes.subarray(error === null ? written : 0), this.#rest])
      if (error !== null) this.#fail(error)
      else if (this.#isClosed) this.flush()
      else if (this.#rest.length > 0 || this.#heldLength >= MIN_WRITE_LENGTH) this.#start()
    })
  }

  /** Moves what is held to the bytes that are next; false when there are none. */
  #take(): boolean {
    if (this.#rest.length === 0 && this.#held.length > 0) {
      this.#rest = Buffer.from(this.#held.join(''))
      this.#held = []
      this.#heldLength = 0
    }
    return this.#rest.length > 0
  }

  #fail(error: unknown): void {
    this.#isBroken = !PASSING.has(codeOf(error))
  }
}

function isFull(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code)
}
