import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf, replaceFile, southboundUnavailable } from '@steeple/contracts'
import { openDirectory } from '../supervisor/radio-files.ts'

/** Keeps a cell out of the core: its S1, NG and user data come to nothing. */
export interface CoreClosing {
  /** Closed when it resolves, also if somebody has taken it away. Gives how often the cell has asked for the core since. */
  close(address: string, signal: AbortSignal): Promise<number>
  /** Open when it resolves. */
  open(signal: AbortSignal): Promise<void>
}

/**
 * The same with a note of it in that folder, from before it is closed until it is open: who does not drive the cell any more removes
 * what is left behind.
 */
export function notedClosing(closing: CoreClosing, directory: string): CoreClosing {
  const path = join(directory, NOTE)
  let isNoted = false
  return {
    close: async (address, signal) => {
      if (!isNoted) {
        await openDirectory(directory)
        await replaceFile(path, '')
        isNoted = true
      }
      return await closing.close(address, signal)
    },
    open: async (signal) => {
      await closing.open(signal)
      await rm(path, { force: true })
      isNoted = false
    },
  }
}

/** Opens the core where an earlier run with that folder has closed it. Throws `southbound_unavailable` when it cannot. */
export async function openLeftBehind(
  directory: string,
  signal: AbortSignal,
  closing: CoreClosing = nftClosing(),
): Promise<void> {
  if (existsSync(join(directory, NOTE))) await notedClosing(closing, directory).open(signal)
}

const NOTE = 'core-closed'

/** The table of this plugin. Nobody else's rules are in it, so it may be removed as a whole. */
const TABLE = 'inet svc_ran'
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const MOST_WORDS = 300

/** S1AP and NGAP (TS 36.412, TS 38.412) and GTP-U (TS 29.281), before it is known whether they are for here or passed on. */
const rulesFor = (address: string): string => `
table ${TABLE}
delete table ${TABLE}
table ${TABLE} {
  counter tries { }
  chain closed {
    type filter hook prerouting priority -150; policy accept;
    ip saddr ${address} sctp dport { 36412, 38412 } counter name "tries" drop
    ip saddr ${address} udp dport 2152 counter name "tries" drop
  }
}
`

/** By nftables of this machine, in the network namespace of the service. */
export function nftClosing(): CoreClosing {
  let inForce: { readonly address: string; readonly listing: string } | undefined
  const put = async (address: string, signal: AbortSignal): Promise<number> => {
    await nft(['-f', '-'], rulesFor(address), signal)
    const found = await listed(signal)
    if (found === undefined) throw southboundUnavailable('nft: the table is gone right after it was made')
    inForce = { address, listing: found.canonical }
    return found.tries
  }
  return {
    close: async (address, signal) => {
      const found = await listed(signal)
      const isAsPut = inForce?.address === address && inForce.listing === found?.canonical
      return found !== undefined && isAsPut ? found.tries : await put(address, signal)
    },
    open: async (signal) => {
      if ((await listed(signal)) !== undefined)
        await nft(['delete', 'table', ...TABLE.split(' ')], '', signal)
      inForce = undefined
    },
  }
}

/** The table as it can be compared with another listing of it; undefined where it is not there. */
async function listed(
  signal: AbortSignal,
): Promise<{ readonly canonical: string; readonly tries: number } | undefined> {
  let text: string
  try {
    text = await nft(['-j', 'list', 'table', ...TABLE.split(' ')], '', signal)
  } catch (error) {
    if (error instanceof Error && /No such file or directory/.test(error.message)) return undefined
    throw error
  }
  let tries = 0
  const canonical = JSON.stringify(JSON.parse(text), (key, value: unknown) => {
    if (key === 'counter' && typeof value === 'object') tries += Number(Object(value).packets ?? 0)
    return ['handle', 'packets', 'bytes', 'metainfo'].includes(key) ? undefined : value
  })
  return { canonical, tries }
}

async function nft(args: readonly string[], input: string, signal: AbortSignal): Promise<string> {
  const env = { PATH: SYSTEM_PATH, LC_ALL: 'C' }
  const running = promisify(execFile)('nft', [...args], { env, signal, killSignal: 'SIGKILL' })
  // It may be gone before it has read all: its status says why.
  running.child.stdin?.on('error', () => undefined)
  running.child.stdin?.end(input)
  try {
    return (await running).stdout
  } catch (error) {
    throw southboundUnavailable(`nft: ${explained(error)}`)
  }
}

/** What went wrong with a call of nft, in plain words. */
export function explained(error: unknown): string {
  const { code, signal, stderr = '' } = error as { code?: unknown; signal?: string | null; stderr?: string } // of execFile
  if (code === 'ENOENT') return 'it is not installed (Debian: nftables)'
  if (/Operation not permitted/.test(stderr))
    return 'not permitted; give the service CAP_NET_ADMIN (AmbientCapabilities=CAP_NET_ADMIN in the unit)'
  const ended = typeof signal === 'string' ? `it was ended by ${signal}` : messageOf(error)
  const problem = typeof code === 'number' ? `it ended with ${code}` : ended
  return stderr.split('\n')[0]?.slice(0, MOST_WORDS) || problem
}
