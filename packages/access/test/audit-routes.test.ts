import { auditTrailRef, subscribersRef } from '@steeple/contracts'
import { assert, fakeContext, suite } from '@steeple/testkit'
import { auditFilterFrom, auditRoutes } from '../src/audit-routes.ts'

const audit = suite('access/audit-routes')

audit('reads its filters', () => {
  assert.equal(auditFilterFrom({}), {})
  const query = {
    action: 'a.b',
    principal: 'p',
    target: 't',
    from: '1970-01-01T00:00:01Z',
    to: '1970-01-01T00:00:02Z',
  }
  assert.equal(auditFilterFrom(query), {
    action: 'a.b',
    principal: 'p',
    target: 't',
    fromMs: 1_000,
    toMs: 2_000,
  })
})

audit('names a time that is none', () => {
  assert.throws(() => auditFilterFrom({ from: 'yesterday' }), /\/from must be an RFC 3339 timestamp/)
})

audit('names the SIM that an entry is about by its label of now, beside what the chain covers', async () => {
  const fake = fakeContext({ id: 'access', config: {} })
  const asked: string[] = []
  const principal = { kind: 'user', id: 'u-1', name: 'ann' }
  const covered = {
    seq: 1,
    atMs: 0,
    principal,
    action: 'a.b',
    outcome: 'ok',
    detail: {},
    hash: 'h',
    prevHash: 'p',
  }
  const entries = ['0123456789ab', 'b-20261121', 'ba9876543210'].map((target) => ({ ...covered, target }))
  fake.services.set(auditTrailRef.id, { list: async () => entries })
  const read = async (): Promise<readonly (string | null)[]> => {
    const [route] = auditRoutes(fake.context)
    // What the handler reads of a request.
    const request = { query: {}, page: () => ({ limit: 10, after: undefined, cursor: () => '' }) }
    const reply = await route?.handle(request as unknown as Parameters<typeof route.handle>[0])
    const body = reply?.body as { readonly entries: readonly { readonly label: string | null }[] }
    return body.entries.map(({ label }) => label)
  }
  assert.equal(await read(), [null, null, null], 'where nobody keeps SIMs')
  const labels = async (hashes: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    asked.push(...hashes)
    return new Map([['0123456789ab', 'village 02']])
  }
  fake.services.set(subscribersRef.id, { labels })
  assert.equal(await read(), ['village 02', null, null])
  assert.equal(asked, ['0123456789ab', 'ba9876543210'], 'hashes alone are asked for')
})

audit.run()
