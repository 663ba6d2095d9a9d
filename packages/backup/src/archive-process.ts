import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { type CapturedState, ServiceError } from '@steeple/contracts'
import {
  type ArchiveFailure,
  type ArchiveOrder,
  type ArchiveReport,
  messageBytes,
  nextMessage,
} from './archive-order.ts'
import type { ArchiveSink } from './format/archive.ts'
import { type ByteReader, byteReader } from './format/byte-reader.ts'
import type { Manifest } from './format/manifest.ts'

/** Built or not, it lies beside this file. */
const PROGRAM = fileURLToPath(
  new URL(`archive-main${new URL(import.meta.url).pathname.slice(-3)}`, import.meta.url),
)
/** It holds some pieces of 64 KiB at a time. */
const FLAGS: readonly string[] = ['--max-semi-space-size=1', '--heap-growing-percent=20']

/** The octets of a backup of a state, made in a process of its own, which an abort ends. As `writeArchive`. */
export async function* packState(
  { facts, files }: Omit<CapturedState, 'release'>,
  passphrase: Buffer | undefined,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  await using program = begin(signal)
  // The pipe stays open: its end tells the process that the service is no more.
  program.input.write(messageBytes({ work: 'pack', state: { facts, files }, ...wordsOf(passphrase) }))
  yield* program.output.rest()
  await program.end()
}

/**
 * Reads a backup in a process of its own, which an abort ends, and gives each file to `sink`; without one it is checked
 * alone. What the sink got is proven only when it resolves. Throws as `readArchive`.
 */
export async function readState(
  source: AsyncIterable<Uint8Array>,
  passphrase: Buffer | undefined,
  signal: AbortSignal,
  sink?: ArchiveSink,
): Promise<Manifest> {
  await using program = begin(signal)
  const { input, output } = program
  const fed = feed(input, { work: 'read', ...wordsOf(passphrase), isCheck: sink === undefined }, source)
  for (;;) {
    const report = await nextMessage<ArchiveReport>(output)
    // What kept the source from being read says more than that its end was missing.
    if (report === undefined) fed.check()
    if (report === undefined || 'manifest' in report) {
      await program.end()
      if (report === undefined) throw new Error('the process that reads the backup ended without an answer')
      return report.manifest
    }
    if ('bytes' in report) await sink?.room?.(report.bytes)
    else await sink?.add(report.name, report.size, output.pieces(report.size))
  }
}

/** A process that packs or reads. Disposed of, it is ended. */
interface Program extends AsyncDisposable {
  readonly input: Writable
  readonly output: ByteReader
  /** Resolves when it has done what it was asked for. Throws why it has not. */
  end(): Promise<void>
}

function begin(signal: AbortSignal): Program {
  signal.throwIfAborted()
  const child = spawn(process.execPath, [...FLAGS, PROGRAM], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  yieldTo(child.pid)
  const [input, output, , failures] = child.stdio as unknown as [Writable, Readable, null, Readable] // as asked for above
  // What it has not taken any more, it has a reason for, which `end` says.
  input.on('error', () => undefined)
  const failure = nextMessage<ArchiveFailure>(byteReader(failures)).catch(() => undefined)
  const ended = once(child, 'close').then(([code]) => code === 0)
  // Told where it is waited for, if anywhere.
  ended.catch(() => undefined)
  return {
    input,
    output: byteReader(output),
    end: async () => {
      const [isDone, why] = await Promise.all([ended, failure])
      if (!isDone) throw errorOf(why)
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      for (const stream of [input, output, failures]) stream.destroy()
      await ended.catch(() => undefined)
    },
  }
}

/** Its start and each of its threads give way to the service, since they are begun after this. */
function yieldTo(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It is polite, and works without; or it has ended.
  }
}

/** Gives order and backup to a process. `check` throws what kept the backup from being read. */
function feed(input: Writable, order: ArchiveOrder, source: AsyncIterable<Uint8Array>): { check(): void } {
  let failed: { readonly error: unknown } | undefined
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield messageBytes(order)
    try {
      yield* source
    } catch (error) {
      failed = { error }
      throw error
    }
  }
  pipeline(all, input).catch(() => undefined)
  return {
    check: () => {
      if (failed !== undefined) throw failed.error
    },
  }
}

function wordsOf(passphrase: Buffer | undefined): { readonly passphrase?: string } {
  return passphrase === undefined ? {} : { passphrase: passphrase.toString('base64') }
}

function errorOf(failure: ArchiveFailure | undefined): Error {
  const { message, code, status } = failure ?? { message: 'the process for backups was ended' }
  return code === undefined || status === undefined
    ? new Error(message)
    : new ServiceError(code, status, message)
}
