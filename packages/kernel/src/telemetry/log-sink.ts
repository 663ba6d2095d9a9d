import { write, writeSync } from 'node:fs'

/** Where lines go: whole lines, each with its newline. */
export interface LogSink {
  write(line: string): void
  /** Writes what is held before it returns. */
  flush(): void
  close(): void
  /** Lines that were dropped because nobody took them. */
  readonly dropped: number
}

/** Lines are collected up to this many characters; a write per line costs more than the line. */
const MIN_WRITE_LENGTH = 16_384
/** A reader that has stopped must not fill the memory; lines beyond this are dropped and counted. */
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
  const flush = (): void => sink.flush()
  const timer = setInterval(() => sink.start(), FLUSH_MS)
  timer.unref()
  process.on('exit', flush)
  return {
    write: (line) => sink.write(line),
    flush,
    close: () => {
      clearInterval(timer)
      sink.close()
      process.off('exit', flush)
    },
    get dropped() {
      return sink.dropped
    },
  }
}

class FileSink {
  dropped = 0
  readonly #fd: number
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
    if (this.#isBroken || this.#heldLength + this.#rest.length > MAX_HELD_LENGTH) {
      this.dropped++
      return
    }
    this.#held.push(line)
    this.#heldLength += line.length
    if (this.#isClosed) this.flush()
    else if (this.#heldLength >= MIN_WRITE_LENGTH) this.start()
  }

  /** Begins to write what is held unless that goes on already. */
  start(): void {
    if (this.#isWriting || this.#isBroken || !this.#take()) return
    this.#isWriting = true
    const bytes = this.#rest
    this.#rest = Buffer.alloc(0)
    write(this.#fd, bytes, (error, written) => {
      this.#isWriting = false
      this.#rest = Buffer.concat([bytes.subarray(error === null ? written : 0), this.#rest])
      if (error !== null) this.#fail(error)
      else if (this.#isClosed) this.flush()
      else if (this.#rest.length > 0 || this.#heldLength >= MIN_WRITE_LENGTH) this.start()
    })
  }

  flush(): void {
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
    this.#isClosed = true
    this.flush()
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
