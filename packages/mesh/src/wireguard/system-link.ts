import { existsSync } from 'node:fs'
import { chunksOf, isRecord, messageOf, southboundUnavailable } from '@steeple/contracts'
import { cidrText, hostCidr, networkOf } from '../peers/cidr.ts'
import { parseDump } from './dump.ts'
import type { LinkDriver, PeerChange, SeenLink } from './link-driver.ts'
import type { Run } from './run.ts'

/** Which routes are this service's. A number that `/etc/iproute2/rt_protos` gives to nobody. */
const ROUTE_PROTOCOL = '178'

/** What `ip -j address show` says of one interface. */
interface LinkFacts {
  /** Its alias, which says who made it. */
  readonly mark: string | undefined
  readonly isUp: boolean
  /** With prefix, those of the link alone left out. */
  readonly addresses: readonly string[]
}

/** Whether an address or a network is of IPv6. */
function isIp6(text: string): boolean {
  return text.includes(':')
}

/** Reads what `ip -j address show dev NAME` prints; undefined when it is something else. */
export function parseLink(json: string): LinkFacts | undefined {
  const link = listIn(json).find((one) => 'ifname' in one)
  if (link === undefined) return undefined
  const flags: unknown = link.flags
  const infos: unknown = link.addr_info
  return {
    mark: typeof link.ifalias === 'string' ? link.ifalias : undefined,
    isUp: Array.isArray(flags) && flags.includes('UP'),
    addresses: (Array.isArray(infos) ? infos.filter(isRecord) : [])
      .filter(({ scope }) => scope !== 'link')
      .map(({ local, prefixlen }) => `${local}/${prefixlen}`),
  }
}

/** The networks of what `ip -j route show` prints. */
export function parseRoutes(json: string, version: 4 | 6): readonly string[] {
  return listIn(json).flatMap(({ dst }) => normal(dst, version) ?? [])
}

/** `default`, `10.0.0.0/8`, or an address alone. */
function normal(dst: unknown, version: 4 | 6): string | undefined {
  if (typeof dst !== 'string') return undefined
  if (dst === 'default') return version === 4 ? '0.0.0.0/0' : '::/0'
  const network = dst.includes('/') ? networkOf(dst) : hostCidr(dst)
  return network === undefined ? undefined : cidrText(network)
}

function listIn(json: string): readonly Readonly<Record<string, unknown>>[] {
  const value: unknown = json.trim() === '' ? [] : JSON.parse(json)
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** Behind the machine's own routes of the same network, which have 0 (IPv6: 256, 1024). */
const METRIC = '1780'
/** Peers that one call of wg sets. */
const AT_ONCE = 100
const NO_DEVICE = /does not exist|No such device|Cannot find device/i
const NO_MODULE = /Unknown device type|Operation not supported|not supported/i

/** What a driver of the system needs. */
export interface SystemLinkParts {
  readonly name: string
  /** What the interface is marked with; another text means that it is somebody else's. */
  readonly mark: string
  /** Directory (0700) in which preshared keys lie for a moment. */
  readonly keysDir: string
  readonly run: Run
}

/** The interface by `wg` and `ip`: of the kernel where it has WireGuard, else of `wireguard-go`. */
export function systemLink(parts: SystemLinkParts): LinkDriver {
  const { name, run } = parts
  const ip = (args: readonly string[], signal: AbortSignal): Promise<string> => run('ip', args, { signal })
  return {
    exists: () => existsSync(`/sys/class/net/${name}`),
    observe: (signal) => observe(parts, signal),
    peek: async (signal) => parseDump(await run('wg', ['show', name, 'dump'], { signal }).catch(() => '')),
    create: async (signal) => {
      if ((await linkJson(parts, signal)) === undefined) await make(parts, signal)
      await ip(['link', 'set', 'dev', name, 'alias', parts.mark], signal)
    },
    setKey: async (file, listenPort, signal) => {
      await run('wg', ['set', name, 'listen-port', String(listenPort), 'private-key', file], { signal })
    },
    setPeers: (changes, removed, signal) => setPeers(parts, changes, removed, signal),
    setAddress: async (address, seen, signal) => {
      const wanted = address === undefined ? [] : [`${address}/${isIp6(address) ? 128 : 32}`]
      for (const old of seen.filter((one) => !wanted.includes(one)))
        await ip(['address', 'del', old, 'dev', name], signal)
      for (const one of wanted) await ip(['address', 'replace', one, 'dev', name], signal)
      await ip(['link', 'set', 'dev', name, 'up'], signal)
    },
    addRoutes: async (networks, from, signal) => {
      // A program for each of a thousand would hold up everything else for half a minute.
      const lines = networks.map((cidr) => {
        const source = from === undefined || isIp6(from) !== isIp6(cidr) ? [] : ['src', from]
        const [, ...args] = routeArgs(name, 'replace', cidr)
        return [...args, ...source].join(' ')
      })
      const secret = { text: lines.join('\n'), dir: parts.keysDir }
      await run('ip', ['-batch', '/dev/stdin'], { signal, secret })
    },
    removeRoutes: async (networks, signal) => {
      for (const cidr of networks)
        await ip(routeArgs(name, 'del', cidr), signal).catch(unless(/No such process/))
    },
    remove: async (signal) => {
      await ip(['link', 'del', 'dev', name], signal).catch(unless(NO_DEVICE))
    },
    ping: async (address, signal) => {
      const args = ['-n', '-q', '-c', '1', '-W', '1', '-I', name, address]
      // Without an answer it ends with 1.
      const said = await run('ping', args, { signal }).catch(() => '')
      const ms = /= ([\d.]+)\//.exec(said)?.[1]
      return ms === undefined ? undefined : Number(ms)
    },
  }
}

async function observe(parts: SystemLinkParts, signal: AbortSignal): Promise<SeenLink | undefined> {
  const { name, run } = parts
  const json = await linkJson(parts, signal)
  if (json === undefined) return undefined
  const link = parseLink(json)
  const wireguard = parseDump(
    await run('wg', ['show', name, 'dump'], { signal }).catch((cause: unknown) => {
      throw southboundUnavailable(
        `there is an interface ${name} that wg cannot read; name another one in peering.interface, or remove it`,
        { cause },
      )
    }),
  )
  if (link === undefined || wireguard === undefined)
    throw southboundUnavailable(`what ip or wg say of ${name} was not understood`)
  const filter = ['-j', 'route', 'show', 'dev', name, 'proto', ROUTE_PROTOCOL]
  const routes = await Promise.all([
    run('ip', ['-4', ...filter], { signal }).then((text) => parseRoutes(text, 4)),
    // A machine without IPv6 has none.
    run('ip', ['-6', ...filter], { signal }).then(
      (text) => parseRoutes(text, 6),
      () => [],
    ),
  ])
  const isUntouched = wireguard.publicKey === undefined && wireguard.peers.length === 0
  const isNew = link.mark === undefined && isUntouched && link.addresses.length === 0
  return {
    owner: link.mark === parts.mark ? 'own' : isNew ? 'new' : 'foreign',
    isUp: link.isUp,
    addresses: link.addresses,
    wireguard,
    routes: routes.flat(),
  }
}

async function linkJson({ name, run }: SystemLinkParts, signal: AbortSignal): Promise<string | undefined> {
  // Without its details ip does not tell the alias.
  return await run('ip', ['-j', '-d', 'address', 'show', 'dev', name], { signal }).catch(unless(NO_DEVICE))
}

/** The kernel's where it can; wireguard-go goes on by itself in the background and ends with its interface. */
async function make({ name, run }: SystemLinkParts, signal: AbortSignal): Promise<void> {
  try {
    await run('ip', ['link', 'add', 'dev', name, 'type', 'wireguard'], { signal })
  } catch (cause) {
    unless(NO_MODULE)(cause)
    await run('wireguard-go', [name], { signal, detached: true }).catch((error: unknown) => {
      throw southboundUnavailable(
        `the kernel has no WireGuard, and the userspace one does not start: ${messageOf(error)}`,
        { cause: error },
      )
    })
  }
}

async function setPeers(
  { name, run, keysDir }: SystemLinkParts,
  changes: readonly PeerChange[],
  removed: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const removal = (key: string): readonly string[] => ['peer', key, 'remove']
  const anew = changes.filter(({ isAnew }) => isAnew === true).map(({ publicKey }) => publicKey)
  const open = changes.filter(({ presharedKey }) => typeof presharedKey !== 'string')
  const batches = [...chunksOf(anew.map(removal), AT_ONCE), ...chunksOf(open.map(peerArgs), AT_ONCE)]
  for (const batch of batches) await run('wg', ['set', name, ...batch.flat()], { signal })
  for (const change of changes) {
    if (typeof change.presharedKey !== 'string') continue
    const secret = { text: change.presharedKey, dir: keysDir }
    await run('wg', ['set', name, ...peerArgs(change)], { signal, secret })
  }
  for (const batch of chunksOf(removed.map(removal), AT_ONCE))
    await run('wg', ['set', name, ...batch.flat()], { signal })
}

function peerArgs({
  publicKey,
  presharedKey,
  endpoint,
  keepaliveS,
  allowedIps,
}: PeerChange): readonly string[] {
  return [
    ...['peer', publicKey],
    ...(presharedKey === undefined
      ? []
      : ['preshared-key', presharedKey === null ? '/dev/null' : '/dev/stdin']),
    ...(endpoint === undefined ? [] : ['endpoint', endpoint]),
    ...['persistent-keepalive', String(keepaliveS), 'allowed-ips', allowedIps.join(',')],
  ]
}

function routeArgs(name: string, verb: 'replace' | 'del', cidr: string): readonly string[] {
  const version = isIp6(cidr) ? '-6' : '-4'
  return [version, 'route', verb, cidr, 'dev', name, 'proto', ROUTE_PROTOCOL, 'metric', METRIC]
}

/** For `catch`: undefined for that complaint, otherwise the error goes on. */
function unless(complaint: RegExp): (error: unknown) => undefined {
  return (error) => {
    if (!complaint.test(messageOf(error))) throw error
    return undefined
  }
}
