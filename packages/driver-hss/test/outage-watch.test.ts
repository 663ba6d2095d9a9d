import { assert, suite } from '@steeple/testkit'
import { outageWatch } from '../src/driver.ts'

const test = suite('driver-hss/outage-watch')

const watchNow = () =>
  outageWatch({ clock: { monotonicMs: () => 0 } as never, healthChanged: () => undefined }, 'x')

test('calls a database that was never there on a new box no outage, and one that has gone an outage', () => {
  const watch = watchNow()
  watch.failed('there is no container mongo')
  assert.equal(watch.health(false).status, 'down')
  const { status, incident, detail } = watch.health(true)
  assert.equal([status, incident], ['degraded', 'part'])
  assert.match(detail, /no core is set up yet: look for one that runs here/)
  watch.answered({ isOk: true, detail: 'mongo' })
  watch.failed('it has ended')
  assert.is(watch.health(true).status, 'down')
})

test('asks again a core that was configured meanwhile, before it calls its database gone', () => {
  const watch = watchNow()
  watch.failed('there is no container mongo')
  watch.health(true)
  assert.is(watch.health(false).status, 'ok')
  watch.failed('there is no container other')
  assert.is(watch.health(false).status, 'down')
})

test.run()
