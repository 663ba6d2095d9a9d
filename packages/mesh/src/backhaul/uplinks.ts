import { readFile } from 'node:fs/promises'
import type { KernelRoute } from '../breakout/routing-table.ts'
import { isDefault } from '../peers/cidr.ts'

/** An interface with a default route, and what the kernel has counted on it. */
export interface Uplink {
  readonly name: string
  /** Another one when the counters began anew: the machine was started, or the interface was made again. */
  readonly since: string
  /** Octets, with the headers of the link. */
  readonly receivedBytes: number
  readonly sentBytes: number
}

/** The interfaces by which this machine gets out, but for that of the mesh: what goes through it leaves by one of the others. */
export function uplinkNames(
  routes: readonly KernelRoute[],
  meshDevice: string | undefined,
): readonly string[] {
  const names = routes.flatMap(({ network, device }) =>
    isDefault(network) && device !== meshDevice ? [device] : [],
  )
  return [...new Set(names)].toSorted()
}

/** Reads the counters of an interface; undefined when it is gone. sysfs, `Documentation/ABI/testing/sysfs-class-net-statistics`. */
export async function uplinkOf(name: string, sys = '/sys', proc = '/proc'): Promise<Uplink | undefined> {
  const folder = `${sys}/class/net/${name}`
  const [boot, index, received, sent] = await Promise.all([
    lineOf(`${proc}/sys/kernel/random/boot_id`),
    lineOf(`${folder}/ifindex`),
    lineOf(`${folder}/statistics/rx_bytes`),
    lineOf(`${folder}/statistics/tx_bytes`),
  ])
  if (!/^\d+$/.test(received) || !/^\d+$/.test(sent)) return undefined
  return { name, since: `${boot} ${index}`, receivedBytes: Number(received), sentBytes: Number(sent) }
}

async function lineOf(path: string): Promise<string> {
  return (await readFile(path, 'latin1').catch(() => '')).trim()
}
