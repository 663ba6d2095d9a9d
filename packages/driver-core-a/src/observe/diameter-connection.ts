import { isIPv4 } from 'node:net'
import type { ContainerState } from '@steeple/southbound'
import type { Daemon } from '../render/roles.ts'
import { isProcessOf, type ProcReader, readText } from './tun-device.ts'

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
