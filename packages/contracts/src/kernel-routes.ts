import { readFile } from 'node:fs/promises'

/** A route of the kernel's main table, as `/proc/net/route` and `/proc/net/ipv6_route` list them. */
export interface KernelRoute {
  /** `bits`: the address as a number. */
  readonly network: { readonly version: 4 | 6; readonly bits: bigint; readonly prefix: number }
  readonly device: string
}

/** RTF_UP of linux/route.h, and RTF_REJECT: an unreachable route is a line with it. */
const UP = 0x1
const REJECT = 0x200
const OCTETS = /../g

/** What the kernel routes where. Nothing is started for it, so it may be asked every few seconds. */
export async function kernelRoutes(root = '/proc/net'): Promise<readonly KernelRoute[]> {
  const [v4, v6] = await Promise.all([textOf(`${root}/route`), textOf(`${root}/ipv6_route`)])
  return routesIn(v4, v6)
}

/** What the texts of both files say. */
export function routesIn(v4: string, v6: string): readonly KernelRoute[] {
  return [...routesFrom4(v4), ...routesFrom6(v6)]
}

/** Reads the lines of `/proc/net/route`; what is no route is passed over. proc_pid_net(5). */
function routesFrom4(text: string): readonly KernelRoute[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device = '', destination = '', , flags = '', , , , mask = ''] = line.trim().split(/\s+/)
      if (!/^[0-9A-F]{8}$/.test(destination) || !/^[0-9A-F]{8}$/.test(mask) || !isUp(flags)) return []
      const prefix = [...reversed(mask).toString(2)].filter((bit) => bit === '1').length
      return [{ device, network: { version: 4 as const, bits: reversed(destination), prefix } }]
    })
}

/** Reads the lines of `/proc/net/ipv6_route`. Routes of the loopback interface and of link-local networks are none. */
function routesFrom6(text: string): readonly KernelRoute[] {
  return text.split('\n').flatMap((line) => {
    const [destination = '', length = '', , , , , , , flags = '', device = ''] = line.trim().split(/\s+/)
    if (!/^[0-9a-f]{32}$/.test(destination) || !isUp(flags) || device === 'lo') return []
    if (/^(fe[89ab]|ff)/.test(destination)) return []
    const network = {
      version: 6 as const,
      bits: BigInt(`0x${destination}`),
      prefix: Number.parseInt(length, 16),
    }
    return [{ device, network }]
  })
}

function isUp(flags: string): boolean {
  const bits = Number.parseInt(flags, 16)
  return (bits & UP) !== 0 && (bits & REJECT) === 0
}

/** The kernel writes addresses as the numbers of a machine whose lowest octet comes first. */
function reversed(hex: string): bigint {
  return BigInt(`0x${(hex.match(OCTETS) ?? []).reverse().join('')}`)
}

async function textOf(path: string): Promise<string> {
  // Without IPv6 in the kernel its file is not there.
  return await readFile(path, 'latin1').catch(() => '')
}
