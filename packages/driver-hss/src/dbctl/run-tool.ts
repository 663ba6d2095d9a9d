import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { southboundUnavailable } from '@steeple/contracts'
import { codeOf } from '@steeple/http-client'

/** The longest run and the longest outputs of the tool. */
const RUN_MS = 15_000
const OUTPUT_MAX = 32 * 1024 * 1024
const ERRORS_MAX = 1024 * 1024

/** What a run of the tool left. All of it may hold IMSIs and keys. */
export interface Ran {
  readonly output: string
  /** What it printed on standard error. */
  readonly errors: string
  /** Undefined when a signal ended it. Says little: the stock tool's is 0 when nothing matched and 1 after `help`. */
  readonly code: number | undefined
  /** What must not be handed on from its words. */
  readonly conceal?: readonly string[]
}

/** Runs one command of the tool, `input` on its standard input. */
export type RunTool = (args: readonly string[], signal: AbortSignal, input?: string) => Promise<Ran>

/**
 * Runs `path` without a shell. Arguments have been checked by the caller, since the tool pastes them into a script.
 * Throws `southbound_unavailable` when it cannot be run, hangs or talks without end.
 */
export function toolRunner(path: string, limitMs: number = RUN_MS): RunTool {
  return async (args, signal, input) => {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<Ran>()
    const fail = (why: string): void => reject(southboundUnavailable(`${path}: ${why}`))
    const child = spawn(path, [...args], { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    // A tool that has ended or does not read says so by its output.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const isTooMuch = (): void => fail('it talks without end')
    const output = gathered(child.stdout, OUTPUT_MAX, isTooMuch)
    const errors = gathered(child.stderr, ERRORS_MAX, isTooMuch)
    child.once('error', (error) =>
      fail(`it cannot be run (${codeOf(error) || 'unknown'}); see hss.dbctl_path`),
    )
    // What it left behind would hold its pipes open.
    child.once('exit', () => killGroup(child.pid))
    child.once('close', (code) => resolve({ output: output(), errors: errors(), code: code ?? undefined }))
    const timer = setTimeout(() => fail(`it did not end within ${limitMs} ms`), limitMs)
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      killGroup(child.pid)
      // One that left its group may hold the pipes still.
      child.stdout.destroy()
      child.stderr.destroy()
    }
  }
}

/** Gathers what comes; calls `tooMuch` beyond `max` octets. Answers what there is as a text. */
function gathered(stream: Readable, max: number, tooMuch: () => void): () => string {
  const parts: Buffer[] = []
  let size = 0
  stream.on('data', (bytes: Buffer) => {
    size += bytes.length
    if (size > max) tooMuch()
    else parts.push(bytes)
  })
  return () => Buffer.concat(parts).toString('utf8')
}

/** Ends the tool and what it started, which outlives it when it went to the background. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

/** The longest text that is handed on. */
const WORDS_MAX = 160
/** A line of mongosh that names an error. No line of a shown document begins so. */
const ERROR_LINE = /^(?:Uncaught:? )?[a-z]*(?:error|exception)\b[^\n]*/im
/** What tells of a failure on standard error, where nothing else is printed that counts. */
const FAILURE =
  /error\b|exception\b|\bE(?:CONN|TIMEDOUT|NOTFOUND|HOST|NET|AI_)|refused|timed out|not found|denied|fail|unable|unreach|can ?not|can't|could ?n[o']t/i
/** Warnings of Node.js and of mongosh about itself. */
const NOISE = /^(?:\(node:|\(Use `node|Warning:)/

/**
 * What a tool says of a failure: one line, at most 160 characters, without anything that could be an IMSI, a key or a
 * password. Undefined when it says nothing of one.
 */
export function failureIn(ran: Ran): string | undefined {
  const lines = linesOf(ran.errors)
  const line =
    ERROR_LINE.exec(ran.errors)?.[0] ??
    ERROR_LINE.exec(ran.output)?.[0] ??
    lines.findLast((one) => FAILURE.test(one)) ??
    (ran.code === 0 ? undefined : lines.at(-1))
  return line === undefined ? undefined : harmless(line, ran.conceal ?? [])
}

/** Lines of mongosh that are neither empty nor a warning about itself. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '' && !NOISE.test(line))
}

/** Hides before it cuts, so that nothing is cut down to less than what is recognised. */
function harmless(line: string, conceal: readonly string[]): string {
  let text = line
  for (const secret of conceal) if (secret !== '') text = text.replaceAll(secret, '…')
  for (const pattern of PERSONAL) text = text.replace(pattern, '…')
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, WORDS_MAX)
}

/** Addresses with what is in them, quoted texts (the last may have no end), named secrets, IMSIs, keys. */
const PERSONAL: readonly RegExp[] = [
  /\b[a-z][a-z+]*:\/\/\S+/gi,
  /"[^"]*"?|(?<!\w)'[^']*'?|`[^`']*[`']?/g,
  /(?<=\b(?:pass\w*|pwd|secret|token|ki?|opc?|imsi)\s*[:=]\s*)\S+/gi,
  /[0-9a-f]{16,}/gi,
  /[0-9]{6,}/g,
]
