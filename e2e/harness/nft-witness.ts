import { execFileSync } from 'node:child_process'

/** Octets of inner packets by the address of the phone (IPv4, or the first half of an IPv6 one). */
export interface Witnessed {
  readonly up: ReadonlyMap<string, number>
  readonly down: ReadonlyMap<string, number>
}

const TABLE = 'netdev witness'
/** Octets of a frame on the loopback interface before the inner packet: IPv4, UDP, GTP-U. */
const BEFORE = 20 + 8 + 8
const PREFIX_MASK = `0x${'f'.repeat(16)}${'0'.repeat(16)}`

/**
 * Counts of the kernel that nobody under test knows of: G-PDUs with the header of S1-U on `lo` to and from the SGW-U, as
 * they are sent, whoever is killed meanwhile. In a network namespace of the test's own.
 */
export function startWitness(core: string): { read(): Witnessed } {
  const sets = ['up4', 'up6', 'down4', 'down6']
  const rules = (['up', 'down'] as const).flatMap((way) => {
    const [end, v4, v6] = way === 'up' ? ['daddr', 128 + 96, 128 + 64] : ['saddr', 128 + 128, 128 + 192]
    const gpdu = `ip ${end} ${core} udp dport 2152 @th,64,16 0x30ff`
    return [
      `${gpdu} @th,128,4 4 update @${way}4 { @th,${v4},32 }`,
      `${gpdu} @th,128,4 6 update @${way}6 { @th,${v6},128 & ${PREFIX_MASK} }`,
    ]
  })
  nft(
    [
      `add table ${TABLE}`,
      ...sets.map((set) => {
        const type = set.endsWith('4') ? 'ipv4_addr' : 'ipv6_addr'
        return `add set ${TABLE} ${set} { type ${type}; size 65535; flags dynamic; counter; }`
      }),
      `add chain ${TABLE} lo { type filter hook ingress device "lo" priority -100; policy accept; }`,
      ...rules.map((rule) => `add rule ${TABLE} lo ${rule}`),
    ].join('\n'),
  )
  const sum = (way: 'up' | 'down'): ReadonlyMap<string, number> =>
    new Map([...elementsOf(`${way}4`), ...elementsOf(`${way}6`)])
  return { read: () => ({ up: sum('up'), down: sum('down') }) }
}

interface Element {
  readonly elem: {
    readonly val: string
    readonly counter: { readonly packets: number; readonly bytes: number }
  }
}

function elementsOf(set: string): readonly (readonly [string, number])[] {
  const listing = JSON.parse(nft('', '-j', 'list', 'set', ...TABLE.split(' '), set)) as {
    readonly nftables: readonly { readonly set?: { readonly elem?: readonly Element[] } }[]
  }
  const elements = listing.nftables.flatMap((one) => one.set?.elem ?? [])
  return elements.map(({ elem: { val, counter } }) => [val, counter.bytes - counter.packets * BEFORE])
}

function nft(input: string, ...args: readonly string[]): string {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
  const all = args.length === 0 ? ['-f', '-'] : args
  return execFileSync('nft', all, { input, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}
