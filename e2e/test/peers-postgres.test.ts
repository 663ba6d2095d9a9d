import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { createFleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import type { ToldPeer } from '../harness/mesh/mesh.ts'
import type { Service } from '../harness/service.ts'

const peers = suite('e2e/peers-postgres')
const LIMIT = { limitMs: 360_000 }
const ROUTE = '10.20.0.0/16'
const KEYS = ['xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=', 'TrMvSoP4jYQlY6RIzBgbssQqY3vxI2Pi+y71lOWWXX0=']
const PSK = 'FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE='

async function listAt(service: Service, query = ''): Promise<readonly ToldPeer[]> {
  const { status, body } = await service.request('GET', `/v1/peers${query}`)
  assert.is(status, 200, JSON.stringify(body))
  return body.peers
}

const namesAt = async (service: Service, query = ''): Promise<string> =>
  (await listAt(service, query)).map(({ name }) => name).join(' ')

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  peers(
    'are kept in PostgreSQL by the instance that has the machine, and no other one has them',
    async () => {
      await using dir = await tempDir()
      const schema = await ownSchema()
      // There is an interface of that name, and none of WireGuard: nothing is made or changed on the machine of the test.
      const fleet = await createFleet({
        dir: dir.path,
        store: () => schema.url,
        env: { SVC_PEERING_INTERFACE: 'lo' },
      })
      try {
        const a = await fleet.start('a')
        const b = await fleet.start('b')
        const add = (at: Service, name: string, body: object = {}) =>
          at.request('POST', '/v1/peers', {
            body: { name, endpoint: 'wg://192.0.2.1:51820', public_key: KEYS[0], routes: [ROUTE], ...body },
          })
        const north = await add(a, 'north', { preshared_key: PSK })
        assert.is(north.status, 201, JSON.stringify(north.body))
        assert.is((await add(a, 'south', { public_key: KEYS[1], routes: ['10.21.0.0/16'] })).status, 201)
        assert.is((await add(a, 'north', { public_key: PSK, routes: [] })).body.error?.code, 'peer_exists')
        assert.is(await namesAt(a), 'north south')
        await eventually(async () =>
          assert.match((await listAt(a))[0]?.reason ?? '', /wg cannot read|not installed/),
        )
        const { id } = north.body
        const next = await a.request('POST', `/v1/peers/${id}/rotate`, { body: { public_key: PSK } })
        assert.is(next.status, 200, JSON.stringify(next.body))
        const elsewhere = await b.request('GET', '/v1/peers')
        assert.equal([elsewhere.status, elsewhere.body.error?.code], [404, 'feature_not_installed'])
        const south = (await listAt(a)).find(({ name }) => name === 'south')
        assert.is((await a.request('DELETE', `/v1/peers/${south?.id}`)).status, 204)
        const shown = async () =>
          (await listAt(a)).map(({ name, state, approved, public_key }) => [
            name,
            state,
            approved,
            public_key,
          ])
        const before = await shown()
        assert.equal(before, [['north', 'pending', [ROUTE], KEYS[0]]])
        await a.stop()
        const again = await fleet.start('a')
        assert.equal(
          (await listAt(again)).map(({ id: one }) => one),
          [id],
        )
        assert.is(await namesAt(again, '?removed=true'), 'south')
        assert.is((await add(again, 'south', { public_key: KEYS[1], routes: [] })).body.id, south?.id)
      } finally {
        await fleet.end()
        await schema.drop()
      }
    },
    LIMIT,
  )
}

peers.run()
