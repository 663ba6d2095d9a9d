import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** A capability as setpriv names it. */
export type Right = 'net_admin' | 'net_raw'

export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

/** Where the system's programs are; nothing of the service's environment is handed on. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The user that owns nothing. Nobody else's process can look into one of its with a capability that it lacks. */
const NOBODY = 65_534
const READ_BY_OTHERS = 0o004
const ENTER_BY_OTHERS = 0o001

/** Whose program it will be, and what it must be able to read. */
export interface Confinement {
  readonly right: Right | undefined
  /** Files that the program reads by their names. */
  readonly reads: readonly string[]
  /** Of the service: the effective user, and whether it may take capabilities out of its bounding set. */
  readonly uid: number
  readonly canBound: boolean
  /** Whether there is a user `nobody` in its user namespace. */
  readonly hasNobody: boolean
}

/**
 * The command that runs a program with one capability, or none, and no way to get another: of its own user where the
 * service is root and that user can read it, else of the service's without the rights of root over files.
 */
export function confined(
  { file, args }: Command,
  { right, reads, uid, canBound, hasNobody }: Confinement,
): Command {
  const set = right === undefined ? '-all' : `-all,+${right}`
  const isOwnUser = uid === 0 && hasNobody && [file, ...reads].every((path) => isReadableByOthers(path))
  const user = isOwnUser ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
  const sets = [`--inh-caps=${set}`, `--ambient-caps=${set}`, ...(canBound ? [`--bounding-set=${set}`] : [])]
  // A child does not outlive the service, however that ends.
  return { file: 'setpriv', args: [...user, ...sets, '--no-new-privs', '--pdeathsig=KILL', file, ...args] }
}

/** A name without a folder is one of the system's programs. */
function isReadableByOthers(path: string): boolean {
  if (!path.includes('/')) return true
  try {
    const real = realpathSync(path)
    if ((statSync(real).mode & READ_BY_OTHERS) === 0) return false
    for (let dir = dirname(real); ; dir = dirname(dir)) {
      if ((statSync(dir).mode & ENTER_BY_OTHERS) === 0) return false
      if (dir === dirname(dir)) return true
    }
  } catch {
    return false
  }
}

/** `CAP_SETPCAP` of linux/capability.h: needed to take something out of the bounding set. */
const SETPCAP = 8n

/** What of `Confinement` the service's own process decides. */
export function ownConfinement(): Pick<Confinement, 'uid' | 'canBound' | 'hasNobody'> {
  const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'
  const maps = readFileSync('/proc/self/uid_map', 'utf8').trim().split('\n')
  const hasNobody = maps.some((line) => {
    const [inside = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
    return inside <= NOBODY && NOBODY < inside + count
  })
  return {
    uid: process.geteuid?.() ?? -1,
    canBound: ((BigInt(`0x${hex}`) >> SETPCAP) & 1n) === 1n,
    hasNobody,
  }
}
