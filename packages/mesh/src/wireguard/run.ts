import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { southboundUnavailable } from '@steeple/contracts'

/** Where the system's programs are; nothing of the service's environment is handed on. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** What a run may take. */
const RUN_BOUND_MS = 10_000
/** Characters of an answer: 20,000 peers have 4 MB. */
const MAX_OUTPUT = 16_000_000
const MAX_WORDS = 300

/** Programs of the system and their Debian packages. */
const PACKAGES: Readonly<Record<string, string>> = {
  wg: 'wireguard-tools',
  ip: 'iproute2',
  ping: 'iputils-ping',
  'wireguard-go': 'wireguard-go',
  nft: 'nftables',
}

/** What one run of a program needs beside its arguments. */
interface RunOptions {
  readonly signal: AbortSignal
  /** A secret, or much, that the program reads from `/dev/stdin`, and the directory (0700) in which it lies for a moment. */
  readonly secret?: { readonly text: string; readonly dir: string }
  /** A session of its own: what it leaves running is not ended with the service. */
  readonly detached?: boolean
}

/**
 * Runs a program of the system to its end and gives what it printed. Secrets go by file, never as an argument; what it
 * prints is in no error. Throws `southbound_unavailable` with its complaint.
 */
export type Run = (file: string, args: readonly string[], options: RunOptions) => Promise<string>

/** The programs of this machine. */
export function systemRun(): Run {
  return async (file, args, { signal, secret, detached = false }) => {
    const input = secret === undefined ? undefined : await unlinkedFile(secret.text, secret.dir)
    try {
      const child = spawn(file, args, {
        env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
        stdio: [input?.fd ?? 'ignore', 'pipe', 'pipe'],
        detached,
        signal: AbortSignal.any([signal, AbortSignal.timeout(RUN_BOUND_MS)]),
        killSignal: 'SIGKILL',
      })
      const { output, words, problem } = await endOf(child)
      signal.throwIfAborted()
      if (problem !== undefined) throw southboundUnavailable(explain(file, words, problem))
      return output
    } finally {
      await input?.close()
    }
  }
}

/** `/dev/stdin` of a pipe of node's cannot be opened, a file's can, also when it has no name any more. */
async function unlinkedFile(text: string, dir: string): Promise<FileHandle> {
  const path = join(dir, `.wg-${randomBytes(8).toString('hex')}`)
  const handle = await open(path, 'wx+', 0o600)
  await unlink(path)
  await handle.writeFile(`${text}\n`)
  return handle
}

interface Ended {
  readonly output: string
  readonly words: string
  readonly problem: string | undefined
}

async function endOf(child: ChildProcess): Promise<Ended> {
  let output = ''
  let words = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    if (output.length < MAX_OUTPUT) output += chunk
  })
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    if (words.length < MAX_WORDS) words += chunk
  })
  const problem = await new Promise<string | undefined>((resolve) => {
    child.on('error', ({ message }) => resolve(message))
    child.on('close', (code, by) =>
      resolve(code === 0 ? undefined : by === null ? `it ended with ${code}` : `it was ended by ${by}`),
    )
  })
  return { output, words, problem }
}

function explain(file: string, words: string, problem: string): string {
  if (/ENOENT/.test(problem)) return `${file} is not installed (Debian: ${PACKAGES[file] ?? file})`
  if (/Operation not permitted|Permission denied|EPERM/.test(words))
    return `${file}: not permitted; give the service CAP_NET_ADMIN (AmbientCapabilities=CAP_NET_ADMIN in the unit)`
  const said = words.split('\n').find((line) => /[A-Za-z]/.test(line))
  return `${file}: ${said === undefined ? problem : said.trim().slice(0, MAX_WORDS)}`
}
