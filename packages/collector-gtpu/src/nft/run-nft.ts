import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { southboundUnavailable } from '@steeple/contracts'
import { confined, ownConfinement, SYSTEM_PATH } from '../rights.ts'

/** Characters of its complaints that are kept. */
const ERROR_CHARACTERS = 500
/** What a run may take: a listing of full tables takes seconds. */
const RUN_BOUND_MS = 30_000

/** Runs `nft`; `line` is told each line that it prints. Throws `southbound_unavailable` with its own words. */
export type NftRun = (
  args: readonly string[],
  input: string,
  line: (text: string) => void,
  signal: AbortSignal,
) => Promise<void>

/** Says that what was named is not there. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && /No such file or directory/.test(error.message)
}

/** The system's nft, in a process with CAP_NET_ADMIN and no other right. */
export function nftRun(): NftRun {
  return async (args, input, line, signal) => {
    const command = confined(
      { file: 'nft', args: ['--numeric', ...args] },
      { right: 'net_admin', reads: [], ...ownConfinement() },
    )
    const bound = AbortSignal.any([signal, AbortSignal.timeout(RUN_BOUND_MS)])
    const child = spawn(command.file, command.args, {
      env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
      stdio: ['pipe', 'pipe', 'pipe'],
      signal: bound,
      killSignal: 'SIGKILL',
    })
    // It may be gone before it has read all: its status says why.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    createInterface({ input: child.stdout }).on('line', line)
    let words = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (words.length < ERROR_CHARACTERS) words += chunk.toString('utf8')
    })
    const problem = await endOf(child)
    signal.throwIfAborted()
    if (problem !== undefined) throw southboundUnavailable(`nft: ${explain(words, problem)}`)
  }
}

async function endOf(child: ChildProcess): Promise<string | undefined> {
  return await new Promise((resolve) => {
    child.on('error', ({ message }) => resolve(message))
    child.on('close', (code, signal) =>
      resolve(
        code === 0 ? undefined : signal === null ? `it ended with ${code}` : `it was ended by ${signal}`,
      ),
    )
  })
}

function explain(words: string, problem: string): string {
  const said = words.split('\n')[0]?.slice(0, ERROR_CHARACTERS) ?? ''
  if (/ENOENT/.test(problem)) return 'setpriv is not installed (Debian: util-linux)'
  if (/failed to execute/.test(said)) return 'nft is not installed (Debian: nftables)'
  if (/Operation not permitted/.test(said))
    return 'not permitted; give the service CAP_NET_ADMIN (AmbientCapabilities=CAP_NET_ADMIN in the unit), or take collector.upf.driver pcap'
  return said === '' ? problem : said
}
