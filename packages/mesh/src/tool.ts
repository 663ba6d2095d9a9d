import { spawn } from 'node:child_process'
import { southboundUnavailable } from '@steeple/contracts'

/** Where the system's programs are; nothing of the service's environment is handed on. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** What a program may print before it is ended, octets. */
const OUTPUT_LIMIT = 4 * 1024 * 1024
/** Characters of its complaints that are kept. */
const ERROR_CHARACTERS = 500
const RUN_BOUND_MS = 30_000

/** The Debian package of each program. */
const PACKAGES: Readonly<Record<string, string>> = { nft: 'nftables', ip: 'iproute2' }

/** Runs one of the system's programs and gives what it printed. Throws `southbound_unavailable` with its own words. */
export type Tool = (
  file: string,
  args: readonly string[],
  signal: AbortSignal,
  input?: string,
) => Promise<string>

/** The system's programs, each in a process of its own that does not outlive the signal. */
export const systemTool: Tool = async (file, args, signal, input = '') => {
  signal.throwIfAborted()
  const child = spawn(file, args, {
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(RUN_BOUND_MS)]),
    killSignal: 'SIGKILL',
  })
  let printed = ''
  let words = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString('latin1')
    if (printed.length > OUTPUT_LIMIT) child.kill('SIGKILL')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    if (words.length < ERROR_CHARACTERS) words += chunk.toString('latin1')
  })
  // It may be gone before it has read all: its status says why.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const problem = await new Promise<string | undefined>((resolve) => {
    child.on('error', ({ message }) => resolve(message))
    child.on('close', (code, by) => resolve(code === 0 ? undefined : `it ended with ${code ?? by}`))
  })
  signal.throwIfAborted()
  if (problem !== undefined) throw southboundUnavailable(`${file}: ${explained(file, words, problem)}`)
  return printed
}

function explained(file: string, words: string, problem: string): string {
  if (/ENOENT/.test(problem)) return `it is not installed (Debian: ${PACKAGES[file] ?? file})`
  const said = words.split('\n')[0]?.slice(0, ERROR_CHARACTERS) ?? ''
  if (/not permitted|must be root/.test(said)) {
    return 'not permitted; give the service CAP_NET_ADMIN (AmbientCapabilities=CAP_NET_ADMIN in the unit)'
  }
  return said === '' ? problem : said
}
