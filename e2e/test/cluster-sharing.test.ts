import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { ask } from '../harness/cluster/books.ts'
import { createFleet, type Fleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import type { RequestOptions } from '../harness/service.ts'

const sharing = suite('e2e/cluster-sharing')

const NAMES = ['a', 'b', 'c'] as const
const LEADER_MS = 60_000

async function withFleet(work: (fleet: Fleet) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  await using schema = await ownSchema()
  await using fleet = await createFleet({
    dir: dir.path,
    store: () => schema.url,
    env: { SVC_HSS_DRIVER: 'none' },
  })
  for (const name of NAMES) await fleet.start(name)
  await work(fleet)
}

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  sharing('shares policy, tokens, limits and kept answers among instances', () =>
    withFleet(async (fleet) => {
      const at = (
        name: string,
        method: string,
        path: string,
        more: RequestOptions = {},
        token = fleet.token,
      ): ReturnType<typeof ask> => ask({ token }, fleet.of(name).url, method, path, more)
      await fleet.leader(NAMES, LEADER_MS)

      const wish = {
        body: { name: 'shared', roles: ['viewer'] },
        headers: { 'idempotency-key': 'the-same-request' },
      }
      const made = await at('a', 'POST', '/v1/tokens', wish)
      assert.is(made.status, 201, JSON.stringify(made.body))
      const again = await at('b', 'POST', '/v1/tokens', wish)
      assert.equal(
        [again.status, again.headers.get('idempotency-replayed'), again.body.id],
        [201, 'true', made.body.id],
      )

      const { id, token } = made.body
      for (const name of NAMES) assert.is((await at(name, 'GET', '/v1/nodes', {}, token)).status, 200)
      assert.is((await at('c', 'DELETE', `/v1/tokens/${id}`)).status, 204)
      for (const name of NAMES) assert.is((await at(name, 'GET', '/v1/nodes', {}, token)).status, 401)

      const changed = await at('a', 'PUT', '/v1/policy', {
        body: { rate_limits: { sim_issue_per_hour: 5 } },
      })
      assert.is(changed.status, 200, JSON.stringify(changed.body))
      for (const name of NAMES)
        await eventually(
          async () => (await at(name, 'GET', '/v1/policy')).body.rate_limits.sim_issue_per_hour === 5,
        )
      assert.is((await at('b', 'POST', '/v1/sims', { body: { count: 3 } })).status, 201)
      assert.is((await at('c', 'POST', '/v1/sims', { body: { count: 3 } })).status, 429)
    }),
  )
}

sharing.run()
