import type { NetConnectOpts } from 'node:net'
import type { Settings } from '@steeple/contracts'
import type { Check } from './check.ts'

/**
 * What the doctor looks at for one optional package of a build, by its keys of the configuration: `parts/<name of the
 * package>.ts`. It is asked only where the package is there, and in a build without it that file is empty.
 */
export interface DoctorPart {
  /** The package. Absent where the file is empty. */
  readonly of?: string
  readonly containers?: (settings: Settings) => readonly Named[]
  readonly programs?: (settings: Settings) => readonly Named[]
  readonly neighbours?: (settings: Settings) => readonly Neighbour[]
  readonly needs?: (settings: Settings) => readonly Need[]
  /** Further checks. `packages` are the folders of the plugins of this build. */
  readonly checks?: (settings: Settings, packages: readonly string[]) => Promise<readonly Check[]>
}

/** A container or a program that the configuration names, and the key that names it. */
export interface Named {
  readonly name: string
  readonly what: string
  readonly key: string
}

/** Something that the configuration says the service talks to. */
export interface Neighbour {
  readonly name: string
  readonly at: string
  readonly connect: NetConnectOpts
  readonly remedy: string
}

/** A capability of Linux (linux/capability.h) that the configuration needs, and what for. */
export interface Need {
  readonly capability: 'CAP_NET_BIND_SERVICE' | 'CAP_NET_ADMIN' | 'CAP_NET_RAW'
  readonly isNeeded: boolean
  readonly why: string
}

/** A neighbour that speaks HTTP under the URL of a key. */
export function httpNeighbour(name: string, url: string, key: string): Neighbour {
  const { hostname, port, protocol } = new URL(url)
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  return {
    name,
    at: `${hostname}:${number}`,
    connect: { host: hostname.replaceAll(/[[\]]/g, ''), port: number },
    remedy: `start it or correct ${key}`,
  }
}

/** Those of the daemons of a core that have a URL, which stands at `SECTION.DAEMON_url`. */
export function httpNeighbours(
  urls: Readonly<Record<string, string>>,
  section: string,
): readonly Neighbour[] {
  return Object.entries(urls).flatMap(([daemon, url]) =>
    url === '' ? [] : [httpNeighbour(daemon, url, `${section}.${daemon}_url`)],
  )
}

/** The containers of the daemons of a core, where it is the one that is driven in containers. */
export function containersOf(settings: Settings, core: 'core_a' | 'core_b'): readonly Named[] {
  if (settings.southbound.driver !== 'container' || settings.core !== core) return []
  return Object.entries(settings[core].containers).map(([role, what]) => ({
    name: role,
    what,
    key: `${core}.containers.${role} (or southbound.driver)`,
  }))
}
