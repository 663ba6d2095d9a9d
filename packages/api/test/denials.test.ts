import { type Principal, systemPrincipal } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { createDenials } from '../src/pipeline/authenticate.ts'

const denials = suite('api/denials')

const ANN: Principal = { kind: 'token', id: 'a', name: 'ann', roles: new Set() }

denials('lets a bounded number of refusals of each principal through in a minute', async () => {
  const clock = fakeClock()
  const meter = createDenials(clock, 2)
  meter.count(ANN)
  meter.count(ANN)
  assert.throws(
    () => meter.count(ANN),
    (error: { code?: string; retryAfterS?: number }) =>
      error.code === 'rate_limited' && error.retryAfterS === 60,
  )
  meter.count(systemPrincipal('a'))
  await clock.advance(59_999)
  assert.throws(() => meter.count(ANN))
  await clock.advance(1)
  meter.count(ANN)
})

denials.run()
