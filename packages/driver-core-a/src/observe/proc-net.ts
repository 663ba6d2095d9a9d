import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import type { ContainerState } from '@steeple/southbound'
import { addressLine, type TunPool } from '../render/kept-pools.ts'
import type { Daemon } from '../render/roles.ts'
import { TUN_DEVICE } from '../render/session-files.ts'

/** The flag of a route that is up (RTF_UP), in the fourth field of `/proc/<pid>/net/route`. */
const IS_UP = 1
/**
 * Whether phones' packets have a way between the UPF and the network: what is amiss, of the UPF that runs in that container, or on this
 * machine; undefined when nothing is known to be.
 */
export type TunLook = (
  container: ContainerState | undefined,
  pools: readonly TunPool[],
) => Promise<string | undefined>

/**
 * Looks whether the routes of the UPF's network have its TUN device: they do while it is there, up and has an address. Where it is not
 * certain whose network that is, one counts as missing that was there before.
 */
export function tunLook(read: ProcReader = readText): TunLook {
  let hasBeen = false
  return async (container, pools) => {
    const of = `/proc/${container?.pid ?? 'self'}`
    const routes = await read(`${of}/net/route`).catch(() => undefined)
    if (routes === undefined) return undefined
    if (hasDevice(routes)) {
      hasBeen = true
      const missing = poolsWithout(routes, pools)
      if (missing.length === 0) return undefined
      const subnets = missing.map(({ subnet }) => subnet).join(', ')
      return `phones of ${subnets} get no data: its TUN device has no address there. Run on its machine: ${missing.map(addressLine).join('; ')}`
    }
    const isCertain = container !== undefined && (await isProcessOf('upf', container, read))
    return hasBeen || isCertain
      ? `its TUN device ${TUN_DEVICE} is missing, down or without an address: phones get no data`
      : undefined
  }
}

function hasDevice(routes: string): boolean {
  return linesOf(routes).some(({ device }) => device === TUN_DEVICE)
}

/** Those to which no device has a route of its own, while the TUN device is there. */
export function poolsWithout(routes: string, pools: readonly TunPool[]): readonly TunPool[] {
  if (!hasDevice(routes)) return []
  const nets = linesOf(routes).filter(({ mask }) => mask !== 0)
  return pools.filter(({ subnet }) => {
    const address = numberOf(subnet.split('/')[0] ?? '')
    return !nets.some(({ destination, mask }) => (address & mask) >>> 0 === destination)
  })
}

const ADDRESS = /^[0-9A-F]{8}$/

/** Routes that are up: the octets of their addresses stand in the order of the machine, which is little-endian. */
function linesOf(routes: string) {
  return routes.split('\n').flatMap((line) => {
    const [device = '', destination = '', , flags = '', , , , mask = ''] = line.split(/\s+/)
    // Not the line with the names of the columns.
    const isRoute = ADDRESS.test(destination) && ADDRESS.test(mask)
    if (!isRoute || (Number.parseInt(flags, 16) & IS_UP) === 0) return []
    return [{ device, destination: turned(destination), mask: turned(mask) }]
  })
}

function turned(text: string): number {
  return Buffer.from(text, 'hex').readUInt32LE()
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, octet) => ((sum << 8) | Number(octet)) >>> 0, 0)
}

/** Reads a file of `/proc`. */
export type ProcReader = (path: string) => Promise<string>

/** Whether the process is that daemon's: a number of the engine's machine may be another process where this service runs. */
async function isProcessOf(
  daemon: Daemon,
  { id, pid }: Pick<ContainerState, 'id' | 'pid'>,
  read: ProcReader = readText,
): Promise<boolean> {
  if (pid === undefined) return false
  const [name, groups] = await Promise.all(
    ['comm', 'cgroup'].map(async (file) => await read(`/proc/${pid}/${file}`).catch(() => '')),
  )
  return name?.trim() === `open5gs-${daemon}d` || (id.length >= 12 && groups?.includes(id) === true)
}

/** Text of a file. */
export async function readText(path: string): Promise<string> {
  return await readFile(path, 'utf8')
}

/** In `/proc/<pid>/net/tcp`, whose columns are: number, own address, other address, state. */
const ESTABLISHED = '01'
const DIAMETER_PORT = 3868

/**
 * Whether the network of a daemon has a connection at the Diameter port of one of these addresses; undefined when its table cannot be
 * read, or an address is none of IPv4.
 */
export async function hasDiameterAt(
  daemon: Daemon,
  container: ContainerState | undefined,
  addresses: readonly string[],
  read: ProcReader = readText,
): Promise<boolean | undefined> {
  if (container === undefined || !(await isProcessOf(daemon, container, read))) return undefined
  const table = await read(`/proc/${container.pid}/net/tcp`).catch(() => undefined)
  if (table === undefined || !addresses.every((address) => isIPv4(address))) return undefined
  const ends = addresses.map((address) => endOf(address, DIAMETER_PORT))
  return table.split('\n').some((line) => {
    const [, own = '', other = '', state] = line.trim().split(/\s+/)
    return state === ESTABLISHED && (ends.includes(own) || ends.includes(other))
  })
}

/** `127.0.0.8` at 3868 → `0800007F:0F1C`: the octets of the address in the order of the machine, which is little-endian. */
function endOf(address: string, port: number): string {
  const octets = address.split('.').map((octet) => hex(Number(octet), 2))
  return `${octets.reverse().join('')}:${hex(port, 4)}`
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0')
}
