import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, rounds, suite } from '@steeple/testkit'
import { ruleForEachSim } from '../harness/alerts-witness.ts'
import { type Service, startService } from '../harness/service.ts'
import { startWebhookReceiver, type Treatment, type WebhookReceiver } from '../harness/webhook-receiver.ts'

const alertsKill = suite('e2e/alerts-kill')
const ROUNDS = rounds(20)
/** SIMs of one round, at most; each makes a rule fire. */
const MOST = 2
/** How often a message is not taken, at most: each time it waits twice as long. */
const MOST_BAD = 3
const ADMIN = 'alerts-kill-admin-token-0123456789abcdef'
const LONGEST_RUN_MS = 3_000
const PATIENCE_MS = 300_000
const BAD: readonly Treatment[] = ['fail', 'hang', 'reset', 'redirect']

interface Alert {
  readonly id: string
  readonly rule: string
  readonly subject: string
  readonly state: string
}

async function alertsOf(service: Service): Promise<readonly Alert[]> {
  const all: Alert[] = []
  for (let cursor = ''; ; ) {
    const { body } = await service.request('GET', `/v1/alerts?limit=500${cursor}`)
    all.push(...body.alerts)
    if (body.next_cursor === null) return all.filter(({ rule }) => rule.startsWith('sims_'))
    cursor = `&cursor=${body.next_cursor}`
  }
}

alertsKill(
  `tells of each alert under one id and with one content, in ${ROUNDS} rounds of kill -9`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'steeple-alerts-kill-'))
    const secretFile = join(folder, 'secret')
    let isKind = false
    const treat = (attempts: number): Treatment => {
      const bad = BAD[Math.floor(Math.random() * BAD.length * 2)]
      return isKind || attempts >= MOST_BAD || bad === undefined ? 'take' : bad
    }
    const receiver = await startWebhookReceiver(secretFile, treat)
    const config = join(folder, 'control.yaml')
    writeFileSync(config, ruleForEachSim(ROUNDS * MOST, receiver.url, secretFile))
    const start = (): Promise<Service> =>
      startService({ dataDir: join(folder, 'data'), adminToken: ADMIN, flags: ['--config', config] })
    try {
      let issued = 0
      let service = await start()
      for (let round = 0; round < ROUNDS; round++) {
        const count = 1 + Math.floor(Math.random() * MOST)
        const { status } = await service.request('POST', '/v1/sims', { body: { count } })
        assert.is(status, 201)
        issued += count
        await new Promise((done) => setTimeout(done, Math.random() * LONGEST_RUN_MS))
        await service.kill()
        service = await start()
      }
      isKind = true
      await eventually(async () => {
        assert.is((await alertsOf(service)).length, issued)
        const { webhooks } = (await service.request('GET', '/v1/alerts/webhooks')).body
        assert.equal([webhooks[0].waiting, webhooks[0].parked], [0, 0], JSON.stringify(webhooks))
      }, PATIENCE_MS)
      judge(await alertsOf(service), receiver)
      await service.stop()
    } finally {
      await receiver.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
  { limitMs: Math.max(1_500_000, ROUNDS * 30_000) },
)

function judge(alerts: readonly Alert[], receiver: WebhookReceiver): void {
  assert.is(receiver.forged, 0)
  const keys = alerts.map(({ rule, subject }) => `${rule}/${subject}`)
  assert.is(new Set(keys).size, keys.length, 'no alert is made twice')
  const bodies = new Map<string, string>()
  for (const { id, body } of receiver.deliveries) {
    assert.is(bodies.get(id) ?? body, body, `${id} has one content`)
    bodies.set(id, body)
  }
  for (const { id, state, rule } of alerts) {
    assert.is(state, 'firing', `${rule} is never over: a restart says nothing of SIMs`)
    const own = receiver.deliveries.filter(({ payload }) => payload.data.id === id)
    assert.is(new Set(own.map((one) => one.id)).size, 1, `${rule} is told under one id`)
    assert.ok(
      own.some(({ treatment }) => treatment === 'take'),
      `${rule} is taken`,
    )
  }
}

alertsKill.run()
