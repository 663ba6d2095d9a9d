import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, rounds, suite, tempDir } from '@steeple/testkit'
import { alertsWitness, patiently, ruleForEachSim, type SeenAlert } from '../harness/alerts-witness.ts'
import { ask } from '../harness/cluster/books.ts'
import { createFleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { startWebhookReceiver, type Treatment } from '../harness/webhook-receiver.ts'

const instances = suite('e2e/alerts-postgres', { limitMs: 1_200_000 })
const NAMES = ['a', 'b'] as const
const ROUNDS = rounds(4)
const LEADER_MS = 120_000

async function story(): Promise<void> {
  await using dir = await tempDir()
  const schema = await ownSchema()
  // Of the first attempts at each message one is not taken: whoever leads next has to send it.
  const treat = (attempts: number): Treatment => (attempts === 0 ? 'fail' : 'take')
  const secretFile = join(dir.path, 'secret')
  const receiver = await startWebhookReceiver(secretFile, treat)
  const config = join(dir.path, 'control.yaml')
  writeFileSync(config, ruleForEachSim(ROUNDS, receiver.url, secretFile))
  const env = { SVC_HSS_DRIVER: 'none' }
  const fleet = await createFleet({ dir: dir.path, store: () => schema.url, env })
  const start = (name: string): ReturnType<typeof fleet.start> =>
    fleet.start(name, { flags: ['--config', config] })
  const get = (name: string, path: string): ReturnType<typeof ask> =>
    ask(fleet, fleet.of(name).url, 'GET', path)
  try {
    for (const name of NAMES) await start(name)
    for (let round = 1; round <= ROUNDS; round++) {
      const leader = await fleet.leader(NAMES, LEADER_MS)
      const other = leader === 'a' ? 'b' : 'a'
      // At the one that does not lead: the leader has to know of it.
      const issued = await ask(fleet, fleet.of(other).url, 'POST', '/v1/sims', { body: {} })
      assert.is(issued.status, 201, JSON.stringify(issued.body))
      await patiently(async () => {
        const { body } = await get(other, `/v1/alerts?rule=sims_${round}`)
        assert.is(body.alerts.length, 1, `the alert of round ${round}, seen at the one that does not lead`)
      })
      await fleet.of(leader).kill()
      await fleet.leader([other], LEADER_MS)
      await start(leader)
    }
    const last = await fleet.leader(NAMES, LEADER_MS)
    await patiently(async () => {
      const { body } = await get(last, '/v1/alerts/webhooks')
      assert.is(body.webhooks[0].waiting, 0, JSON.stringify(body))
    })
    const seen = alertsWitness((path) => get(last, path), receiver)
    await seen.judge()
    const ours = (await seen.alerts()).filter(({ rule }: SeenAlert) => rule.startsWith('sims_'))
    assert.equal(
      ours.map(({ rule, state }) => `${rule} ${state}`).toSorted(),
      Array.from({ length: ROUNDS }, (_, index) => `sims_${index + 1} firing`).toSorted(),
    )
    for (const { id, rule } of ours) {
      const own = receiver.deliveries.filter(({ payload }) => payload.data.id === id)
      assert.is(new Set(own.map((one) => one.id)).size, 1, `${rule} is told under one id`)
      assert.is(new Set(own.map(({ body }) => body)).size, 1, `${rule} is told with one content`)
      assert.ok(own.some(({ treatment }) => treatment === 'take'))
    }
  } finally {
    await fleet.end()
    await receiver.close()
    await schema.drop()
  }
}

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else
  instances(
    'tell of each alert once however often another one leads, and of what is done at any of them',
    story,
  )

instances.run()
