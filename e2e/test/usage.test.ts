import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, suite } from '@steeple/testkit'
import { type EventStream, openEvents } from '../harness/event-client.ts'
import { INTERVAL_MS, type MeteredLab, type Octets, startMeteredLab } from '../harness/metered-lab.ts'
import { type ShiftedClock, shiftedClock } from '../harness/shifted-clock.ts'

enterOwnNetwork(import.meta.filename)

/*
 * What flows, from the first octet of a phone to its being cut off and let on again: the built product, the phones of a lab
 * core, and GTP-U over the loopback interface of a network of their own. Each test goes on where the one before ended.
 */
const usage = suite('e2e/usage')
const PATIENCE_MS = 120_000
const SIMS = 12
const MB = 1_000_000
const DAY_MS = 86_400_000
/** The service's clock begins at noon of tomorrow: no run crosses the end of a period by itself, nor is before its build. */
const TO_NOON_MS = DAY_MS + DAY_MS / 2 - (Date.now() % DAY_MS)
const STORY = /^(quota|session)\.|^sim\.(suspend|quota)$/
const folder = mkdtempSync(join(tmpdir(), 'steeple-usage-'))
let clock: ShiftedClock
let world: MeteredLab
let events: EventStream
let hashes: readonly string[]
/** Who runs out, whom an operator suspends besides, and who has no quota. */
let [over, barred, free] = ['', '', '']

usage.before(async () => {
  clock = shiftedClock(folder)
  clock.shift(TO_NOON_MS)
  world = await startMeteredLab(folder, { nodeFlags: clock.nodeFlags })
  events = await openEvents(`${world.service.url}/v1/events`, { token: world.service.adminToken })
})

usage.after(async () => {
  events?.close()
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Waits until the ledger says of each SIM what its phone has moved, byte for byte. */
async function ledgerIsTrue(of: readonly string[]): Promise<void> {
  for (const hash of of) {
    let [used, moved]: readonly (Octets | undefined)[] = []
    await eventually(async () => {
      used = await world.used(hash)
      moved = await world.moved(hash)
      return used.up === moved.up && used.down === moved.down
    }, PATIENCE_MS).catch(() => assert.equal(used, moved, hash))
  }
}

async function sim(
  hash: string,
): Promise<{ readonly state: string; readonly suspend_reason: string | null }> {
  return await world.get(`/v1/sims/${hash}`)
}

async function sessionsOf(hash: string, state = ''): Promise<readonly Record<string, unknown>[]> {
  return (await world.get(`/v1/sessions?imsi=${hash}${state === '' ? '' : `&state=${state}`}`)).sessions
}

async function component(name: string): Promise<{ readonly status: string }> {
  const { components } = await world.get('/v1/health')
  return components.find((one: { readonly name: string }) => one.name === name)
}

async function isOff(hash: string): Promise<boolean> {
  return (await world.phone(hash)).ipv4 === null
}

/** The phone is on; one that waits for its next attempt is told to make it. */
async function comesBack(hash: string): Promise<void> {
  await eventually(async () => (await world.phone(hash, 'attach')).state === 'connected', PATIENCE_MS)
}

usage(
  'knows who is online, and where, once phones attach',
  async () => {
    const cards = await world.issue(SIMS)
    await world.insert(cards)
    hashes = cards.map(({ hash }) => hash)
    ;[over = '', barred = '', free = ''] = hashes
    await eventually(
      async () => (await world.get('/v1/sessions?limit=100')).sessions.length === SIMS,
      PATIENCE_MS,
    )
    const { sessions } = await world.get('/v1/sessions?limit=100')
    const seen = new Map(sessions.map((one: { imsi_sha256_12: string }) => [one.imsi_sha256_12, one]))
    for (const { phone, ipv4 } of await world.phones()) {
      const { ue_ip, apn, state, technology, up_bytes, down_bytes } = seen.get(phone) as Record<
        string,
        unknown
      >
      assert.equal(
        { ue_ip, apn, state, technology, up_bytes, down_bytes },
        { ue_ip: ipv4, apn: 'internet', state: 'active', technology: 'lte', up_bytes: 0, down_bytes: 0 },
      )
    }
    await eventually(async () => {
      const metrics = (await world.service.request('GET', '/metrics')).body
      assert.match(
        metrics,
        new RegExp(`^svc_sessions_active\\{apn="internet",plmn="999-99"\\} ${SIMS}$`, 'm'),
      )
    })
  },
  { limitMs: PATIENCE_MS },
)

usage(
  'counts every octet of every phone once, up and down, over S1-U and N3, IPv4 and IPv6',
  async () => {
    await Promise.all(
      hashes.map((hash, i) =>
        world.phone(hash, 'data', {
          up_bytes: 100_000 + 1_237 * i,
          down_bytes: 2 * MB + 77_777 * i,
          interface: i % 3 === 0 ? 'n3' : 's1u',
        }),
      ),
    )
    await ledgerIsTrue(hashes)
    for (const [i, hash] of hashes.entries()) {
      assert.equal(await world.used(hash), { up: 100_000 + 1_237 * i, down: 2 * MB + 77_777 * i })
      const { by_source, total_bytes, over_quota } = await world.get(`/v1/sims/${hash}/usage`)
      assert.equal(Object.keys(by_source), ['gtpu'])
      assert.equal([total_bytes, over_quota], [2_100_000 + 79_014 * i, false])
      await eventually(async () => {
        const [session] = await sessionsOf(hash)
        assert.equal([session?.up_bytes, session?.down_bytes], [100_000 + 1_237 * i, 2 * MB + 77_777 * i])
      })
    }
    const frames = (await (await fetch(`${world.lab.urls.control}/gtpu`)).json()) as Record<string, number>
    assert.equal([frames.arrived, frames.lost], [frames.sent, 0], 'the loopback interface lost nothing')
  },
  { limitMs: PATIENCE_MS },
)

usage(
  'cuts a phone off that goes over its quota, soon, and nobody else',
  async () => {
    const used = await world.used(over)
    const quota = used.up + used.down + 3 * MB
    const record = await world.post(`/v1/sims/${over}/quota`, { quota_bytes: quota, period: 'day' })
    assert.equal([record.quota_bytes, record.remaining_bytes, record.over_quota], [quota, 3 * MB, false])
    await world.phone(over, 'traffic', { up_kbps: 1_000, down_kbps: 19_000 })
    await world.phone(free, 'traffic', { up_kbps: 100, down_kbps: 900 })
    const total = async (): Promise<number> => {
      const { up, down } = await world.moved(over)
      return up + down
    }
    await eventually(async () => (await total()) > quota, PATIENCE_MS)
    const exceededAt = performance.now()
    await eventually(() => isOff(over), PATIENCE_MS)
    const ms = performance.now() - exceededAt
    const moved = await total()
    const { state, suspend_reason } = await sim(over)
    assert.is(state, 'suspended')
    assert.match(String(suspend_reason), /quota/)
    await eventually(async () => (await sessionsOf(over)).length === 0, PATIENCE_MS)
    await ledgerIsTrue([over])
    assert.is(await total(), moved, 'not one octet after it')
    const ended = await sessionsOf(over, 'ended')
    assert.is(ended.length, 1)
    const after = await world.get(`/v1/sims/${over}/usage`)
    assert.equal([after.over_quota, after.remaining_bytes], [true, 0])
    assert.equal([await isOff(free), (await sim(free)).state], [false, 'in-use'])
    process.stdout.write(
      `\n# off ${ms.toFixed(0)} ms after the quota was exceeded, every ${INTERVAL_MS} ms a look\n`,
    )
  },
  { limitMs: 2 * PATIENCE_MS },
)

usage(
  'tells of what it did, once each',
  async () => {
    const told = (): readonly string[] =>
      events.events
        .filter(({ type, data }) => STORY.test(type) && JSON.stringify(data).includes(over))
        .map(({ type }) => type)
    await eventually(async () => told().length >= 6, PATIENCE_MS / 2).catch(() => undefined)
    const story = told()
    // What a single look has seen may cross both edges: the cut does not wait for the telling.
    assert.equal(story.slice(0, 2), ['session.begin', 'sim.quota'])
    assert.equal(story.slice(2).toSorted(), ['quota.exceeded', 'quota.warning', 'session.end', 'sim.suspend'])
    assert.ok(story.indexOf('quota.warning') < story.indexOf('quota.exceeded'), story.join(' '))
  },
  { limitMs: PATIENCE_MS },
)

usage(
  'lets it on again when it is topped up, and cuts it off at the new bound',
  async () => {
    const { quota_bytes: before } = await world.get(`/v1/sims/${over}/usage`)
    await world.post(`/v1/sims/${over}/quota`, { add_bytes: 20 * MB })
    await eventually(async () => (await sim(over)).state === 'in-use', PATIENCE_MS)
    // What it moves goes on by itself as soon as it is on.
    await comesBack(over)
    await eventually(() => isOff(over), PATIENCE_MS)
    await ledgerIsTrue([over])
    const { up, down } = await world.used(over)
    assert.ok(up + down >= before + 20 * MB, `${up + down} of ${before + 20 * MB}`)
  },
  { limitMs: 3 * PATIENCE_MS },
)

usage(
  'loses no octet while a collector leaves and comes back',
  async () => {
    const [, , , last = ''] = hashes
    await world.phone(last, 'traffic', { up_kbps: 2_000, down_kbps: 10_000 })
    for (const id of ['collector-mme', 'collectors']) {
      const from = await world.moved(last)
      await world.post(`/v1/plugins/${id}/unload`)
      await eventually(async () => (await world.moved(last)).down > from.down + MB, PATIENCE_MS)
      await world.post(`/v1/plugins/${id}/load`)
    }
    await world.phone(last, 'traffic')
    // A tap that left counts nothing; what it has counted before is not lost with it, looked at or not.
    for (let burst = 0; burst < 5; burst += 1) {
      await world.phone(last, 'data', { up_bytes: 100_000, down_bytes: MB })
      await world.post('/v1/plugins/collector-gtpu/unload')
      await world.post('/v1/plugins/collector-gtpu/load')
    }
    await ledgerIsTrue([last])
  },
  { limitMs: 3 * PATIENCE_MS },
)

usage(
  'lets it on again when a new period begins; who was suspended by an operator stays off',
  async () => {
    const { total_bytes } = await world.get(`/v1/sims/${barred}/usage`)
    await world.post(`/v1/sims/${barred}/suspend?wait=30s`, { reason: 'lost' })
    await world.post(`/v1/sims/${barred}/quota`, { quota_bytes: Math.max(1, total_bytes - 1), period: 'day' })
    assert.is((await sim(barred)).suspend_reason, 'operator')
    await world.phone(over, 'traffic', {})
    clock.shift(TO_NOON_MS + DAY_MS)
    // A leap is no new period before somebody says that it is right.
    await eventually(async () => (await component('clock')).status === 'degraded', PATIENCE_MS)
    assert.is((await sim(over)).state, 'suspended')
    await world.post('/v1/clock/confirm', {})
    await eventually(async () => (await sim(over)).state === 'in-use', PATIENCE_MS)
    await comesBack(over)
    const { total_bytes: today, over_quota } = await world.get(`/v1/sims/${over}/usage`)
    assert.equal([today, over_quota], [0, false])
    assert.equal(await sim(barred).then(({ state, suspend_reason }) => [state, suspend_reason]), [
      'suspended',
      'operator',
    ])
    assert.is(await isOff(barred), true)
  },
  { limitMs: 3 * PATIENCE_MS },
)

usage.run()
