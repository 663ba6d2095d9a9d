import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import {
  type BoxCalls,
  boxCallsRef,
  clockJudgeRef,
  type Imsi,
  type ImsiHash,
  type Manifest,
  type Plugin,
  type QuotaKeeper,
  quotaKeeperRef,
  type Subscriber,
  simRegisterRef,
  southboundUnavailable,
  systemPrincipal,
  type UsageLedger,
  usageLedgerRef,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  driverPlugin,
  eventually,
  type FakeClock,
  type FakeCore,
  type FakeHss,
  fakeClock,
  fakeCore,
  fakeHss,
  type InlinePlugin,
  letTimePass,
  loadTestbed,
  pluginFrom,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../../src/plugin.ts'
import { autnOf, type Card, type CardAnswer } from './card.ts'
import { KEYS } from './keys.ts'

/** A box: kernel, SIMs, roaming, an HSS and a core in memory. */
export interface Box {
  readonly name: string
  readonly bed: Testbed
  readonly clock: FakeClock
  readonly hss: FakeHss
  readonly core: FakeCore
  /** Phones that its core has refused. */
  readonly strangers: Set<Imsi>
  /** Whether others reach it, and it them. */
  isReachable: boolean
  /** Whether it is in the mesh. */
  isMember: boolean
  /** The next answers to it get lost on their way, so many. */
  lostAnswers: number
  readonly usage: Usage
  readonly id: string
  ask<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    status?: number,
  ): Promise<Body>
  /** A phone with that card attaches here: what its card says; undefined when the HSS knows nobody of that IMSI, or bars it. */
  attach(imsi: Imsi, card: Card): CardAnswer | undefined
  /** Revokes a SIM and erases it. */
  erase(hash: ImsiHash): Promise<void>
  /** Sets its clock on or back, and says that it is right. */
  setClock(byMs: number): Promise<void>
  /** It hears that the members are others. */
  membersChanged(): void
}

/** What a box has counted, by hash, and what a quota leaves. */
export interface Usage {
  /** What its collectors have seen, and when, by its clock; at any time without that. */
  readonly seen: Map<string, { upBytes: number; downBytes: number; atMs?: number }>
  /** What was submitted, octets. */
  readonly submitted: { readonly hash: string; readonly source: string; readonly bytes: number }[]
  readonly quotas: Map<string, number>
}

/** Boxes of one mesh. */
export interface World {
  readonly boxes: readonly Box[]
  close(): Promise<void>
}

/** Boxes of these names, each with a clock. `config` is of roaming. */
export async function world(names: readonly string[], config: object = {}): Promise<World> {
  const boxes: Box[] = []
  const stops: (() => Promise<void>)[] = []
  for (const name of names) {
    const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
    stops.push(letTimePass(clock))
    boxes.push(await startBox(name, clock, boxes, config))
  }
  for (const box of boxes) box.membersChanged()
  return {
    boxes,
    close: async () => {
      for (const box of boxes) await box.bed.stop()
      for (const stop of stops) await stop()
    },
  }
}

async function startBox(name: string, clock: FakeClock, boxes: readonly Box[], config: object): Promise<Box> {
  const { startTestbed } = await loadTestbed()
  const hss = fakeHss()
  const core = fakeCore()
  const strangers = new Set<Imsi>()
  const { ues } = core
  core.ues = async (signal) => [
    ...(await ues(signal)),
    ...[...strangers].map((imsi) => ({ imsi, isRegistered: false, apns: [] })),
  ]
  const mesh = meshPlugin(() => box, boxes)
  const usage: Usage = { seen: new Map(), submitted: [], quotas: new Map() }
  const eraser = eraserPlugin()
  const bed = await startTestbed({
    plugins: [
      { dir: fileURLToPath(new URL('../../../sims', import.meta.url)) },
      driverPlugin('hss', hss),
      driverPlugin('core', core),
      mesh.plugin,
      usagePlugin(usage),
      eraser.plugin,
      await pluginFrom(new URL('../world.ts', import.meta.url).href, plugin),
    ],
    clock,
    config: { sims: { attach_interval: '100ms' }, roaming: config },
  })
  const box: Box = {
    ...{ name, bed, clock, hss, core, strangers, isReachable: true, isMember: true, lostAnswers: 0, usage },
    id: bed.identity.nodeId,
    membersChanged: mesh.changed,
    erase: eraser.erase,
    setClock: async (byMs) => {
      clock.jump(clock.nowMs() + byMs)
      await eraser.confirmClock()
    },
    ask: async (method, path, body, status = 200) =>
      bodyOf(await bed.request(method, path, body === undefined ? {} : { body }), status),
    attach: (imsi, card) => attach(hss, core, imsi, card),
  }
  return box
}

/** The members of a mesh speak to one another over HTTP, each as the node that it is. */
function meshPlugin(
  self: () => Box,
  boxes: readonly Box[],
): { readonly plugin: InlinePlugin; changed(): void } {
  let tell: () => void = () => undefined
  const others = (): readonly Box[] =>
    boxes
      .filter((box) => box !== self() && box.isMember && self().isMember)
      // The order of their names is not that of their ids, which is the one that counts.
      .toSorted((a, b) => (a.id < b.id ? 1 : -1))
  const calls: BoxCalls = {
    others: async () => others().map(({ id: nodeId, name }) => ({ nodeId, name })),
    call: async (nodeId, { method, path, body }) => {
      const other = others().find(({ id }) => id === nodeId)
      if (other === undefined || !other.isReachable || !self().isReachable)
        throw southboundUnavailable('the box does not answer')
      const token = other.bed.credential({ kind: 'node', id: self().id, roles: ['node'] })
      const answer = await other.bed.request(method, path, { token, body })
      if (self().lostAnswers === 0) return answer
      self().lostAnswers -= 1
      throw southboundUnavailable('the answer was lost')
    },
  }
  const meshPlugin: Plugin = {
    setup: async (context) => {
      tell = () => context.changed(boxCallsRef)
      return { services: new Map([[boxCallsRef.id, calls]]) }
    },
  }
  const manifest: Manifest = {
    ...{ id: 'fake-mesh', kind: 'feature' as const, contracts: '*', config_path: 'fake_mesh' },
    ...{ provides: [boxCallsRef.id], handover: 'overlap' as const },
  }
  return {
    plugin: { name: '@example/mesh', version: '1.0.0', plugin: meshPlugin, manifest },
    changed: () => tell(),
  }
}

/** What compliance does when somebody is to be forgotten and no core has to be waited for. */
function eraserPlugin(): {
  readonly plugin: InlinePlugin
  erase(hash: ImsiHash): Promise<void>
  confirmClock(): Promise<void>
} {
  let erase = async (_: ImsiHash): Promise<void> => undefined
  let confirmClock = async (): Promise<void> => undefined
  const plugin: Plugin = {
    setup: async (context) => {
      erase = async (hash) => {
        const register = context.use(simRegisterRef)
        await context.mutate(systemPrincipal('eraser'), 'sim.erase', hash, async (tx) => {
          await register.revokeIn(tx, hash)
          await register.eraseIn(tx, hash, { isUnheard: true })
        })
      }
      confirmClock = () => context.use(clockJudgeRef).confirm()
      return {}
    },
  }
  const manifest: Manifest = {
    ...{ id: 'fake-eraser', kind: 'feature' as const, contracts: '*', config_path: 'fake_eraser' },
    ...{ requires: [simRegisterRef.id, clockJudgeRef.id], handover: 'overlap' as const },
  }
  return {
    plugin: { name: '@example/eraser', version: '1.0.0', plugin, manifest },
    erase: (hash) => erase(hash),
    confirmClock: () => confirmClock(),
  }
}

/** A ledger and quotas in memory. */
function usagePlugin({ seen, submitted, quotas }: Usage): InlinePlugin {
  const totals: UsageLedger['totals'] = async (imsi, sinceMs) => {
    const { atMs = sinceMs, upBytes = 0, downBytes = 0 } = seen.get(imsi) ?? {}
    const octets = atMs < sinceMs ? { upBytes: 0, downBytes: 0 } : { upBytes, downBytes }
    return { ...octets, isIncomplete: false, bySource: new Map() }
  }
  const ledger: UsageLedger = {
    totals,
    totalsIn: (_, imsi) => totals(imsi, 0, 0),
    sums: async () => new Map(),
    series: async () => [],
    submit: async (tx, hash, source, { upBytes, downBytes }) =>
      tx.afterCommit(() => void submitted.push({ hash, source, bytes: upBytes + downBytes })),
    knownUntil: () => ({ atMs: undefined, reason: undefined }),
  }
  const usedOf = (imsi: ImsiHash): number =>
    submitted.filter(({ hash }) => hash === imsi).reduce((sum, { bytes }) => sum + bytes, 0)
  const keeper: QuotaKeeper = {
    used: async (imsis) =>
      new Map(imsis.map((imsi) => [imsi, { usedBytes: usedOf(imsi), limitBytes: quotas.get(imsi) }])),
    granted: async () => undefined,
    keepsOff: async () => false,
  }
  const provided = new Map<string, object>([
    [usageLedgerRef.id, ledger],
    [quotaKeeperRef.id, keeper],
  ])
  const manifest: Manifest = {
    ...{ id: 'fake-usage', kind: 'feature' as const, contracts: '*', config_path: 'fake_usage' },
    ...{ provides: [...provided.keys()], handover: 'overlap' as const },
  }
  const plugin: Plugin = { setup: async () => ({ services: provided }) }
  return { name: '@example/usage', version: '1.0.0', plugin, manifest }
}

/**
 * What Open5GS does: the SQN as it is, then 32 more. One that is barred is authenticated all the same, so that its card takes that SQN, and
 * is refused afterwards.
 */
function attach(hss: FakeHss, core: FakeCore, imsi: Imsi, card: Card): CardAnswer | undefined {
  const held: Subscriber | undefined = hss.held.get(imsi)
  if (held === undefined) return undefined
  const hex = Buffer.from(hss.keys.get(imsi) ?? '', 'hex')
  const keys = { k: hex.subarray(0, 16), opc: hex.subarray(16) }
  const rand = randomBytes(16)
  const answer = card.authenticate(rand, autnOf(keys, rand, held.sqn))
  hss.held.set(imsi, { ...held, sqn: held.sqn + 32n })
  if (answer !== 'takes') return answer
  if (held.isBlocked) return undefined
  core.attached.add(imsi)
  return answer
}

/** Imports a SIM with the test's keys, and chooses its reach. */
export async function simAt(box: Box, imsi: Imsi, reach: object = { reach: 'mesh' }): Promise<ImsiHash> {
  const row = { imsi, ki: KEYS.k.toString('hex'), opc: KEYS.opc.toString('hex') }
  await box.ask('POST', '/v1/sims/import', { sims: [row] })
  const hash = imsiHash(imsi)
  await eventually(() => assert.ok(box.hss.held.has(imsi)))
  await box.ask('PUT', `/v1/sims/${hash}/reach`, reach)
  return hash
}

/** Lets a box have keys of another one's SIMs. */
export async function permit(home: Box, other: Box, permitted = true): Promise<void> {
  await home.ask('PUT', `/v1/roaming/boxes/${other.id}`, { permitted })
}

/** The roaming tables of a box that have a row with that text, other than those of stays. */
export function tablesWith(box: Box, text: string): readonly string[] {
  using store = new DatabaseSync(join(box.bed.dataDir, 'svc.db'), { readOnly: true })
  const tables = store
    .prepare("select name from sqlite_master where type = 'table' and name like 'roaming_%'")
    .all()
    .map(({ name }) => String(name))
  assert.ok(tables.length > 5, tables.join())
  return tables
    .filter((name) => name !== 'roaming_stay')
    .filter((name) =>
      store
        .prepare(`select * from ${name}`)
        .all()
        .some((row) => JSON.stringify(row).includes(text)),
    )
}
