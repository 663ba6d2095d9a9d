import { assert, suite } from '@steeple/testkit'
import { auditFilterFrom } from '../src/audit-routes.ts'

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

audit.run()
