import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, suite } from '@steeple/testkit'
import { type MeteredLab, startMeteredLab } from '../harness/metered-lab.ts'

enterOwnNetwork(import.meta.filename)

/*
 * A quota that slows a phone down: the built product beside a lab core, whose HSS has its rates in a document and tells its MME
 * of them, which says them to the base station when the phone attaches. Each test goes on where the one before ended.
 */
const throttle = suite('e2e/quota-throttle')
const PATIENCE_MS = 120_000
const MB = 1_000_000
const SLOW_BPS = 256_000
const folder = mkdtempSync(join(tmpdir(), 'steeple-throttle-'))
let world: MeteredLab
let cards: readonly { readonly imsi: string; readonly hash: string }[]
let [slow, free] = ['', '']
let usual: Rates

interface Rates {
  readonly downlink: number
  readonly uplink: number
}

throttle.before(
  async () => {
    world = await startMeteredLab(folder)
    cards = await world.issue(2)
    await world.insert(cards)
    ;[slow = '', free = ''] = cards.map(({ hash }) => hash)
    usual = await ratesAtCore(slow)
  },
  { limitMs: 2 * PATIENCE_MS },
)

throttle.after(async () => {
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The AMBR of a phone as the MME has it. */
async function ratesAtCore(hash: string): Promise<Rates> {
  const imsi = cards.find((card) => card.hash === hash)?.imsi
  const { items } = (await (await fetch(`${world.lab.urls.mme}/ue-info`)).json()) as {
    readonly items: readonly { readonly supi: string; readonly ambr: Rates }[]
  }
  const found = items.find(({ supi }) => supi === imsi)
  assert.ok(found, 'the MME lists the phone')
  return found.ambr
}

async function usageOf(hash: string): Promise<Record<string, unknown>> {
  return await world.get(`/v1/sims/${hash}/usage`)
}

/** Waits until the record says what of it is to be said. */
async function says(hash: string, wanted: object): Promise<void> {
  let found: object = {}
  await eventually(async () => {
    const { throttle: rates, enforcement, over_quota } = await usageOf(hash)
    found = { rates, enforcement, over_quota }
    return JSON.stringify(found) === JSON.stringify(wanted)
  }, PATIENCE_MS).catch(() => assert.equal(found, wanted))
}

async function sessionsOf(hash: string, state: string): Promise<readonly unknown[]> {
  return (await world.get(`/v1/sessions?imsi=${hash}&state=${state}`)).sessions
}

throttle(
  'slows down a phone that is over its quota: at the HSS, at the core, and in the record',
  async () => {
    await world.post(`/v1/sims/${slow}/quota`, {
      quota_bytes: MB,
      period: 'day',
      action: 'throttle',
      throttle_bps: SLOW_BPS,
    })
    await world.phone(slow, 'data', { up_bytes: MB / 2, down_bytes: MB })
    const limited = { bps: SLOW_BPS, state: 'in_force' }
    await says(slow, { rates: limited, enforcement: 'throttled', over_quota: true })
    assert.equal(await ratesAtCore(slow), { downlink: SLOW_BPS, uplink: SLOW_BPS })
    assert.equal(await ratesAtCore(free), usual)
    await eventually(async () => (await world.get(`/v1/sims/${slow}`)).state === 'in-use', PATIENCE_MS)
    // Those of its own, which it gets back.
    const { ambr } = await world.get(`/v1/sims/${slow}`)
    assert.equal(ambr, { downlink_bps: usual.downlink, uplink_bps: usual.uplink })
  },
  { limitMs: 2 * PATIENCE_MS },
)

throttle(
  'has it attach anew, as a session keeps the rates with which it began, and leaves it on',
  async () => {
    await eventually(async () => (await world.phone(slow, 'attach')).state === 'connected', PATIENCE_MS)
    await eventually(async () => (await sessionsOf(slow, 'ended')).length === 1, PATIENCE_MS)
    await eventually(async () => (await sessionsOf(slow, 'active')).length === 1, PATIENCE_MS)
    assert.is((await sessionsOf(free, 'ended')).length, 0)
    const before = await world.moved(slow)
    await world.phone(slow, 'data', { up_bytes: 1_000, down_bytes: 2_000 })
    await eventually(async () => (await world.used(slow)).down === before.down + 2_000, PATIENCE_MS)
  },
  { limitMs: 2 * PATIENCE_MS },
)

throttle(
  'gives it its own rates back when it is topped up',
  async () => {
    await world.post(`/v1/sims/${slow}/quota`, { add_bytes: 100 * MB })
    await says(slow, { rates: null, enforcement: 'none', over_quota: false })
    await eventually(async () => (await ratesAtCore(slow)).uplink === usual.uplink, PATIENCE_MS)
    assert.equal(await ratesAtCore(slow), usual)
  },
  { limitMs: 2 * PATIENCE_MS },
)

throttle.run()
