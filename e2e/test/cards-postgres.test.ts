import { assert, suite, tempDir } from '@steeple/testkit'
import { simsCsv } from '../bench/store-of-sims.ts'
import { createFleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import type { Service } from '../harness/service.ts'

const cards = suite('e2e/cards-postgres')
const LIMIT = { limitMs: 240_000 }
const ROWS = 1_200

async function imported(service: Service, body: string, query = ''): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'text/csv' }
  const answer = await service.request('POST', `/v1/sims/import${query}`, { body, headers })
  assert.is(answer.status, 200, JSON.stringify(answer.body).slice(0, 600))
  return answer.body
}

/** The cards of one block with the IMSIs of other SIMs. */
function withOtherImsis(csv: string): string {
  return csv.replaceAll(/^99999000/gm, '99999111')
}

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  cards(
    'finds the cards of a delivery on PostgreSQL, and refuses them a second time',
    async () => {
      await using dir = await tempDir()
      await using schema = await ownSchema()
      await using fleet = await createFleet({ dir: dir.path, store: () => schema.url, env: {} })
      await fleet.start('a')
      const service = fleet.of('a')
      const csv = simsCsv(1_000, ROWS, ['iccid'])
      assert.is((await imported(service, csv)).imported, ROWS)
      const again = await imported(service, withOtherImsis(csv))
      assert.equal([again.imported, again.failed], [0, ROWS])
      const few = withOtherImsis(csv).split('\n').slice(0, 4).join('\n')
      assert.equal((await imported(service, few)).failed, 3)
      const [iccid = ''] = csv.split('\n')[1]?.split(',').slice(3) ?? []
      const end = await service.request('GET', `/v1/sims?iccid_last4=${iccid.slice(-4)}`)
      const whole = await service.request('POST', '/v1/sims/find', { body: { iccid } })
      assert.is(whole.body.sims.length, 1)
      const hash = whole.body.sims[0].imsi_sha256_12
      const found = end.body.sims.map((sim: { imsi_sha256_12: string }) => sim.imsi_sha256_12)
      assert.ok(found.includes(hash))
      const revoked = await service.request('POST', `/v1/sims/${hash}/revoke`)
      assert.is(revoked.status, 200)
      const freed = await imported(service, few)
      assert.equal([freed.imported, freed.failed], [1, 2])
    },
    LIMIT,
  )
}

cards.run()
