// What somebody writes by hand who wants the same sums: nothing in it looks for fragments, merged datagrams, lengths that do
// not agree or full sets, and no service reads it. It is the ceiling of the driver nft, in the same run.
import { spawnSync } from 'node:child_process'

const TABLE = 'by_hand'
/** The headers of the traffic that is sent: without extensions, with a number, with one or two extensions. */
const HEADERS = [8, 12, 16, 20, 24, 32]
/** IP and UDP. */
const OUTER = 28

const bit = (octet) => 64 + octet * 8
const keyOf = (way, header, inner) => {
  const at = bit(header)
  if (inner === 4) return `@th,${at + (way === 'up' ? 96 : 128)},32`
  const high = at + (way === 'up' ? 64 : 192)
  return `@th,${high},32 . @th,${high + 32},32`
}

function nft(args, input = '') {
  const { status, stdout, stderr } = spawnSync('nft', args, {
    input,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0) throw new Error(`nft: ${stderr}`)
  return stdout
}

export function rulesFor(iface, core) {
  const lines = [`table netdev ${TABLE} {`]
  const chain = (name, rules) => lines.push(`chain ${name} {`, ...rules, '}')
  for (const way of ['up', 'down']) {
    for (const header of HEADERS) {
      for (const inner of [4, 6]) {
        const type = inner === 4 ? 'type ipv4_addr' : `typeof ${keyOf('up', 8, 6)}`
        lines.push(`set ${way}${inner}_${header} { ${type}; size 65536; flags dynamic; counter; }`)
      }
      const count = (inner) =>
        `@th,${bit(header)},4 ${inner} update @${way}${inner}_${header} { ${keyOf(way, header, inner)} } accept`
      chain(`${way}_${header}`, [count(4), count(6)])
    }
    // A first extension of eight octets has another behind it in this traffic.
    const second = `@th,${bit(20)},8 vmap { 1 : goto ${way}_24, 3 : goto ${way}_32 }`
    chain(`${way}_two`, [`@th,${bit(19)},8 0 goto ${way}_20`, second])
    chain(`${way}_extended`, [`@th,${bit(12)},8 vmap { 1 : goto ${way}_16, 2 : goto ${way}_two }`])
    const by = `0x30 : goto ${way}_8, 0x32 : goto ${way}_12, 0x34 : goto ${way}_extended`
    chain(way, [`@th,64,8 vmap { ${by} }`])
  }
  chain('in', [
    `type filter hook ingress device "${iface}" priority 0; policy accept;`,
    'udp dport != 2152 accept',
    '@th,72,8 != 0xff accept',
    `ip daddr ${core} goto up`,
    `ip saddr ${core} goto down`,
  ])
  return [...lines, '}'].join('\n')
}

/** Octets of phones that it has counted. */
function counted() {
  const { nftables } = JSON.parse(nft(['-j', 'list', 'table', 'netdev', TABLE]))
  return nftables
    .flatMap(({ set }) =>
      set === undefined ? [] : (set.elem ?? []).map((one) => ({ name: set.name, ...one })),
    )
    .reduce((sum, { name, elem }) => {
      const { bytes, packets } = elem.counter
      return sum + bytes - packets * (OUTER + Number(name.split('_')[1]))
    }, 0)
}

/** Counts what arrives on an interface. */
export function openByHand(iface, core) {
  nft(['-f', '-'], rulesFor(iface, core))
  return { pid: undefined, octets: counted, close: () => nft(['delete', 'table', 'netdev', TABLE]) }
}
