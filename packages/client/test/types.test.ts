import { assert, suite } from '@steeple/testkit'
import type { AnswerOf, Client, CodeOf, ItemOf, PagedPath } from '../src/index.ts'

const types = suite('client/types')

/** What the compiler refuses is the test: it runs with the types of this package. */
export const asks = [
  (client: Client) => client.get('/v1/status'),
  (client: Client) => client.get('/v1/sims', { query: { state: 'in-use', limit: 5 } }),
  // @ts-expect-error no such path
  (client: Client) => client.get('/v1/simz'),
  // @ts-expect-error no such method there
  (client: Client) => client.put('/v1/sims', { body: { count: 1 } }),
  // @ts-expect-error the path has a parameter
  (client: Client) => client.get('/v1/sims/{imsi}'),
  // @ts-expect-error no such state
  (client: Client) => client.get('/v1/sims', { query: { state: 'lost' } }),
  // @ts-expect-error a number
  (client: Client) => client.post('/v1/sims', { body: { count: '1' } }),
  (client: Client) => client.put('/v1/policy', { body: {}, ifMatch: '"1"' }),
  // @ts-expect-error it takes no If-Match
  (client: Client) => client.put('/v1/log-level', { body: { level: 'debug' }, ifMatch: '"1"' }),
  // @ts-expect-error not a list
  (client: Client) => client.rows('/v1/status'),
]

types('tells answers, rows and codes of operations apart', () => {
  const issued: AnswerOf<'POST', '/v1/sims'>['issued'] = 1
  const hash: ItemOf<'/v1/sims'>['imsi_sha256_12'] = '0123456789ab'
  const code: CodeOf<'GET', '/v1/sims/{imsi}'> = 'sim_not_found'
  const list: PagedPath = '/v1/audit'
  assert.equal([issued, hash, code, list], [1, '0123456789ab', 'sim_not_found', '/v1/audit'])
  assert.is(asks.length, 10)
})

types.run()
