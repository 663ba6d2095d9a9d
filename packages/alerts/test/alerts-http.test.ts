import { assert, eventually, suite } from '@steeple/testkit'
import { world } from './support/world.ts'

const alerts = suite('alerts/alerts-http')

alerts('fires when a metric is beyond its threshold, shows it, and tells a receiver, signed', async () => {
  const all = await world()
  try {
    all.set(11)
    await eventually(async () => assert.is((await all.alerts()).length, 1))
    const [alert] = await all.alerts()
    assert.equal(
      [alert?.rule, alert?.severity, alert?.state, alert?.subject, alert?.value, alert?.threshold],
      ['high', 'warning', 'firing', 'svc_gauge_level', 11, 10],
    )
    await eventually(() => assert.is(all.receiver.taken.length, 1))
    const [message] = all.receiver.taken
    assert.is(message?.payload.type, 'alert.firing')
    assert.is(message?.payload.data.id, alert?.id)
    assert.match(message?.payload.text ?? '', /^WARNING: high .*svc_gauge_level is 11: > 10$/)
    all.set(10)
    await eventually(() => assert.is(all.receiver.taken.length, 2))
    assert.is(all.receiver.taken[1]?.payload.type, 'alert.resolved')
    const [over] = await all.alerts()
    assert.equal([over?.id, over?.state], [alert?.id, 'resolved'])
    assert.ok(over?.resolved_at !== null)
    assert.is(all.receiver.forged, 0)
  } finally {
    await all.close()
  }
})

alerts.run()
