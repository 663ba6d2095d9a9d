import { readFile, writeFile } from 'node:fs/promises'
import { southboundUnavailable } from '@steeple/contracts'
import type { Run } from '../wireguard/run.ts'
import type { TableWanted } from './wanted.ts'

/** The table of this plugin. Nobody else's rules are in it, so it may be removed as a whole. */
const TABLE = { family: 'inet', name: 'svc_breakout' } as const

/** A statement or an expression of libnftables-json(5). */
type Nft = Readonly<Record<string, unknown>>

const OVERLAY = 'overlay'
const NOTE = /^ip_forward was ([01])$/

/**
 * The argument of `nft -j` that puts the table in place of whatever has its name, in one transaction: no packet meets
 * half of it. `wasForwarding` is kept as a comment, for whoever takes the table away. libnftables-json(5).
 */
function rulesetText(wanted: TableWanted, wasForwarding: boolean): string {
  const { mesh } = wanted
  const commands: readonly Nft[] = [
    // The first makes sure that there is one to delete.
    { add: { table: TABLE } },
    { delete: { table: TABLE } },
    { add: { table: TABLE } },
    ...set('pools4', 'ipv4_addr', wanted.pools4),
    ...set('pools6', 'ipv6_addr', wanted.pools6),
    ...(mesh === undefined || isAll(mesh.offered) ? [] : set('offered4', 'ipv4_addr', mesh.offered)),
    ...(mesh === undefined ? [] : set('direct4', 'ipv4_addr', mesh.direct)),
    chain('note', {}),
    rule('note', [{ return: null }], `ip_forward was ${wasForwarding ? 1 : 0}`),
    chain('out', { type: 'nat', hook: 'postrouting', prio: 100, policy: 'accept' }),
    ...outRules(wanted),
    // Before all that accepts: a filter of the chain below would let answers by.
    chain('fit', { type: 'filter', hook: 'forward', prio: -150, policy: 'accept' }),
    ...fitRules(wanted),
    chain('through', { type: 'filter', hook: 'forward', prio: 0, policy: 'accept' }),
    ...(mesh === undefined ? [] : throughRules(mesh)),
  ]
  return JSON.stringify({ nftables: commands })
}

/** The argument of `nft -j` that removes it; fails when it is not there. */
const REMOVAL_TEXT: string = JSON.stringify({ nftables: [{ delete: { table: TABLE } }] })

/**
 * A listing of `nft -j list table` as it can be compared with another of the same nft: without handles and counts. With
 * what the note says. Throws SyntaxError for what is no listing.
 */
function readListing(text: string): {
  readonly canonical: string
  /** Undefined where the note is gone. */
  readonly wasForwarding: boolean | undefined
} {
  const { nftables } = JSON.parse(text) as { readonly nftables?: unknown }
  if (!Array.isArray(nftables)) throw new SyntaxError('nft -j printed no list')
  const items = nftables.filter((item: Nft) => item.metainfo === undefined)
  const note = items
    .map(({ rule: one }: { readonly rule?: { readonly comment?: string } }) => NOTE.exec(one?.comment ?? ''))
    .find((found) => found !== null)
  return {
    canonical: JSON.stringify(items, (key, value: unknown) =>
      key === 'handle' || key === 'packets' || key === 'bytes' ? undefined : value,
    ),
    wasForwarding: note === undefined ? undefined : note[1] === '1',
  }
}

/** Where addresses are translated. Between phones of this box they are not. */
function outRules({ pools4, pools6, isLocal, mesh }: TableWanted): readonly Nft[] {
  const elsewhere = mesh === undefined ? [] : [match('!=', meta('oifname'), mesh.device)]
  const fromPools = (protocol: 'ip' | 'ip6', name: string): readonly Nft[] => [
    match('==', field(protocol, 'saddr'), `@${name}`),
    match('!=', field(protocol, 'daddr'), `@${name}`),
  ]
  const translate = [{ counter: null }, { masquerade: null }]
  const rules: Nft[] = []
  if (isLocal && pools4.length > 0) {
    rules.push(rule('out', [...elsewhere, ...fromPools('ip', 'pools4'), ...translate], 'phones, here'))
  }
  if (isLocal && pools6.length > 0) {
    rules.push(
      rule('out', [...elsewhere, ...fromPools('ip6', 'pools6'), ...translate], 'phones, here (IPv6)'),
    )
  }
  if (mesh === undefined) return rules
  const intoMesh = match('==', meta('oifname'), mesh.device)
  // Pools of boxes may be the same: a peer takes from this box what has its overlay address, and more where it says so.
  if (pools4.length > 0) {
    const phones = match('==', field('ip', 'saddr'), '@pools4')
    const others = match('!=', field('ip', 'daddr'), '@direct4')
    rules.push(rule('out', [intoMesh, phones, others, ...translate], 'phones, into the mesh'))
  }
  if (mesh.offered.length > 0) {
    const members = match('==', field('ip', 'saddr'), prefix(mesh.overlay))
    // Phones of this box answer by this box.
    const others = match('!=', field('ip', 'daddr'), '@pools4')
    rules.push(rule('out', [...elsewhere, members, others, ...translate], `${OVERLAY}, to what is offered`))
  }
  return rules
}

/**
 * TCP of phones and through the mesh asks for no more octets at once than its way takes (RFC 9293 §3.7.1): where "fragmentation
 * needed" is dropped on the way nobody would hear of it.
 */
function fitRules({ pools4, pools6, mesh }: TableWanted): readonly Nft[] {
  const opening = match('in', { '&': [field('tcp', 'flags'), ['syn', 'rst']] }, 'syn')
  const fit: Nft = {
    mangle: { key: { 'tcp option': { name: 'maxseg', field: 'size' } }, value: { rt: { key: 'mtu' } } },
  }
  const ways: readonly Nft[] = [
    ...(mesh === undefined ? [] : ['iifname', 'oifname'].map((key) => match('==', meta(key), mesh.device))),
    ...(pools4.length === 0
      ? []
      : ['saddr', 'daddr'].map((name) => match('==', field('ip', name), '@pools4'))),
    ...(pools6.length === 0
      ? []
      : ['saddr', 'daddr'].map((name) => match('==', field('ip6', name), '@pools6'))),
  ]
  return ways.map((way) => rule('fit', [way, opening, fit], 'segments that fit'))
}

/** Whoever comes through the mesh, member or behind one, reaches what this box offers and answers; offers are of IPv4. */
function throughRules({ device, offered }: NonNullable<TableWanted['mesh']>): readonly Nft[] {
  const established = match('in', { ct: { key: 'state' } }, ['established', 'related'])
  const fromMesh = match('==', meta('iifname'), device)
  const drop = [{ counter: null }, { drop: null }]
  const rules = [
    rule('through', [established, { accept: null }], 'answers'),
    rule('through', [fromMesh, match('==', meta('nfproto'), 'ipv6'), ...drop], `${OVERLAY}, IPv6`),
  ]
  if (isAll(offered)) return rules
  const elsewhere = match('!=', field('ip', 'daddr'), '@offered4')
  return [...rules, rule('through', [fromMesh, elsewhere, ...drop], `${OVERLAY}, not offered`)]
}

function isAll(networks: readonly string[]): boolean {
  return networks.includes('0.0.0.0/0')
}

function set(name: string, type: string, networks: readonly string[]): readonly Nft[] {
  const elem = networks.map(prefix)
  return [
    {
      add: {
        set: {
          ...TABLE,
          table: TABLE.name,
          name,
          type,
          flags: ['interval'],
          ...(elem.length === 0 ? {} : { elem }),
        },
      },
    },
  ]
}

function chain(name: string, hook: Nft): Nft {
  return { add: { chain: { family: TABLE.family, table: TABLE.name, name, ...hook } } }
}

function rule(into: string, expr: readonly Nft[], comment: string): Nft {
  return { add: { rule: { family: TABLE.family, table: TABLE.name, chain: into, expr, comment } } }
}

function match(op: string, left: Nft, right: unknown): Nft {
  return { match: { op, left, right } }
}

function meta(key: string): Nft {
  return { meta: { key } }
}

function field(protocol: 'ip' | 'ip6' | 'tcp', name: string): Nft {
  return { payload: { protocol, field: name } }
}

function prefix(cidr: string): Nft {
  const [addr = '', length = ''] = cidr.split('/')
  return { prefix: { addr, len: Number(length) } }
}

/** The table of nftables as a whole. */
export interface TranslationTable {
  /** Puts it back unless it is as it was put there. Says whether it had to. */
  keep(wanted: TableWanted, signal: AbortSignal): Promise<boolean>
  /** Takes it away, and what was turned on for it. Nothing to do where it is not there. */
  remove(signal: AbortSignal): Promise<boolean>
}

/** Whether the kernel passes IPv4 packets on. */
export interface Forwarding {
  isOn(): Promise<boolean>
  turn(isOn: boolean): Promise<void>
}

const LIST = ['-j', 'list', 'table', TABLE.family, TABLE.name]

/** The switch of this network namespace. ip-sysctl of the kernel's documentation. */
export function kernelForwarding(path = '/proc/sys/net/ipv4/ip_forward'): Forwarding {
  return {
    // A machine that has no such switch passes nothing on.
    isOn: async () => (await readFile(path, 'latin1').catch(() => '0')).trim() === '1',
    turn: async (isOn) => {
      await writeFile(path, isOn ? '1' : '0').catch(({ message }: Error) => {
        throw southboundUnavailable(
          `packets are not passed on, and the service may not change that (${message}); sysctl -w net.ipv4.ip_forward=1`,
        )
      })
    },
  }
}

/**
 * The table in the kernel. It outlives the service, so that a restart interrupts nobody; a service that comes next puts its
 * own in the place of it. What nft lists right after that is what it is compared with, as each nft writes it its own way.
 */
export function translationTable(run: Run, forwarding: Forwarding): TranslationTable {
  let inForce: { readonly text: string; readonly canonical: string } | undefined
  // For when the note is flushed with the rest.
  let wasForwarding: boolean | undefined
  const list = async (signal: AbortSignal): Promise<ReturnType<typeof readListing> | undefined> => {
    try {
      return readListing(await run('nft', LIST, { signal }))
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw error
    }
  }
  return {
    keep: async (wanted, signal) => {
      const found = await list(signal)
      wasForwarding = found?.wasForwarding ?? wasForwarding ?? (await forwarding.isOn())
      const text = rulesetText(wanted, wasForwarding)
      if (found !== undefined && inForce?.text === text && inForce.canonical === found.canonical) return false
      inForce = undefined
      await run('nft', ['-j', text], { signal })
      const put = await list(signal)
      if (put === undefined) throw southboundUnavailable('nft: the table is gone right after it was made')
      inForce = { text, canonical: put.canonical }
      return true
    },
    remove: async (signal) => {
      const found = await list(signal)
      inForce = undefined
      // Where nothing is known nothing is turned off.
      if ((found?.wasForwarding ?? wasForwarding) === false) await forwarding.turn(false)
      wasForwarding = undefined
      if (found === undefined) return false
      await run('nft', ['-j', REMOVAL_TEXT], { signal })
      return true
    },
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && /No such file or directory/.test(error.message)
}
