import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, suite } from '@steeple/testkit'
import { type AlertsWitness, alertsWitness, patiently } from '../harness/alerts-witness.ts'
import { DBCTL } from '../harness/lab-core.ts'
import { type Card, type MeteredLab, startMeteredLab } from '../harness/metered-lab.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../harness/webhook-receiver.ts'

enterOwnNetwork(import.meta.filename)

/*
 * The built-in rules about the network, each fired and ended by what it is about: a core, phones, SIMs and an HSS. Those about
 * the box: alerts-rules-box.
 */
const rules = suite('e2e/alerts-rules', { limitMs: 900_000 })
const QUOTA = 1_000
/** SIMs that come near their quota at once: more than have an alert of their own. */
const STORM = 60
const OF_THEIR_OWN = 50
const folder = mkdtempSync(join(tmpdir(), 'steeple-alerts-rules-'))
const brake = join(folder, 'hss-is-broken')
let receiver: WebhookReceiver
let world: MeteredLab
let seen: AlertsWitness
let cards: readonly Card[]

async function core(): Promise<void> {
  await world.insert(cards.slice(0, 3))
  const surge = await seen.fires('session_surge', 'sessions')
  assert.is(surge.value, 3)
  await world.lab.kill()
  const down = await seen.fires('component_down', 'driver-core-a.daemons')
  await world.restartLab()
  for (const { hash } of cards.slice(0, 3)) await world.phone(hash, 'detach')
  await seen.ends(down)
  await seen.ends(surge)
}

async function hss(): Promise<void> {
  writeFileSync(brake, '')
  await world.post('/v1/sims', { count: 2 })
  const failing = await seen.fires('hss_push_failing', 'hss')
  assert.is(failing.value, 2)
  const away = await seen.fires('component_down', 'driver-hss.hss')
  rmSync(brake)
  await seen.ends(failing)
  await seen.ends(away)
}

async function quotas(): Promise<void> {
  const hashes = cards.map(({ hash }) => hash)
  const use = (hash: string, octets: number, report: string): Promise<unknown> =>
    world.post(`/v1/sims/${hash}/usage`, { up_bytes: octets, down_bytes: 0, report_id: `rules-${report}` })
  for (const hash of hashes)
    await world.post(`/v1/sims/${hash}/quota`, { quota_bytes: QUOTA, period: 'month', action: 'alert' })
  for (const hash of hashes) await use(hash, 0.79 * QUOTA, 'most')
  assert.equal(await seen.alerts('&rule=sim_quota_80'), [], 'four fifths are not reached')
  for (const hash of hashes) await use(hash, 0.06 * QUOTA, 'more')
  const others = await seen.fires('sim_quota_80', '*')
  await patiently(async () => {
    const [group] = (await seen.alerts('&rule=sim_quota_80')).filter(({ subject }) => subject === '*')
    const own = (await seen.alerts('&rule=sim_quota_80&state=firing')).filter(
      ({ subject }) => subject !== '*',
    )
    assert.ok(own.length <= OF_THEIR_OWN)
    assert.is(own.length + (group?.value ?? 0), STORM)
  })
  const [first = ''] = hashes
  await use(first, 0.15 * QUOTA, 'all')
  const exceeded = await seen.fires('sim_quota_100', first)
  for (const hash of hashes)
    await world.post(`/v1/sims/${hash}/quota`, {
      quota_bytes: 10 * QUOTA,
      period: 'month',
      action: 'alert',
    })
  await seen.ends(exceeded)
  await seen.ends(others)
  await patiently(async () => assert.equal(await seen.alerts('&rule=sim_quota_80&state=open'), []))
  const told = receiver.deliveries.filter(({ payload }) => payload.data.rule === 'sim_quota_80')
  assert.ok(told.length <= 2 * (OF_THEIR_OWN + 1), `${told.length} messages of one storm`)
}

/** What is done to the network, each until all of it is well again. */
const STORIES: ReadonlyMap<string, () => Promise<void>> = new Map([
  ['tell of more sessions than phones are planned for, and of a core that is down', core],
  ['tell of an HSS that does not answer while SIMs wait for it', hss],
  ['tell of SIMs that use up their quotas, of many at once in one message for all but the first', quotas],
])
const told = new Map<string, Promise<void>>()

rules.before(async () => {
  receiver = await startWebhookReceiver(join(folder, 'secret'), () => 'take')
  const webhooks = [
    { name: 'ops', url: receiver.url, secret_file: join(folder, 'secret'), allow_private: true },
  ]
  const config = join(folder, 'control.yaml')
  writeFileSync(config, JSON.stringify({ alerts: { enabled: true, interval: '1s', webhooks } }))
  // The core's own tool, until it is broken.
  const tool = join(folder, 'dbctl')
  const script = `#!/bin/sh\n[ -e '${brake}' ] && exit 1\nexec '${process.execPath}' '${DBCTL}' "$@"\n`
  writeFileSync(tool, script, { mode: 0o755 })
  world = await startMeteredLab(folder, {
    flags: ['--config', config],
    env: { SVC_HSS_DBCTL_PATH: tool, SVC_POLICY_MAX_UES: '2' },
  })
  const get = (path: string): ReturnType<MeteredLab['service']['request']> =>
    world.service.request('GET', path)
  seen = alertsWitness(get, receiver)
  cards = await world.issue(STORM)
  // Most of each story is waiting, so they go on beside each other.
  for (const [title, tell] of STORIES) {
    const story = tell()
    // Its test reports it.
    story.catch(() => undefined)
    told.set(title, story)
  }
})

rules.after(async () => {
  await world?.close()
  await receiver?.close()
  rmSync(folder, { recursive: true, force: true })
})

for (const title of STORIES.keys()) rules(title, async () => await told.get(title))

rules('have told of each beginning and each end once', async () => {
  await eventually(async () => {
    const { body } = await world.service.request('GET', '/v1/alerts/webhooks')
    assert.is(body.webhooks[0].waiting, 0)
  })
  await seen.judge()
})

rules.run()
