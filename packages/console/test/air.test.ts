import { assert, suite } from '@steeple/testkit'
import { inBrowser } from './support/page.ts'

const { airOf } = await import('../src/pages/radio/follow-arm.ts')

/** An arm is a success when the radio sends. */
const air = suite('console/air')
inBrowser(air)

const ran = (status: string, detail = status) => ({ kind: 'ran', status, detail })
const core = { kind: 'core', status: 'down', detail: 'away' }

air('says that a radio is on the air when it is, and why not when it is not', () => {
  const on = { transmitter: 'on' }
  assert.equal(airOf(on, [core, ran('ok')]), { is: 'on', why: 'ok' })
  assert.equal(airOf(on, []).is, 'on', 'a radio that tells nothing of itself')
  assert.equal(airOf({ transmitter: 'off' }, [ran('ok', 'off: TX is not armed')]).is, 'starting')
  assert.equal(airOf(on, [ran('degraded', 'starting')]), { is: 'starting', why: 'starting' })
  assert.equal(airOf(on, [ran('degraded', 'starting')], true), { is: 'off', why: 'starting' })
  const refused = 'the radio sends at 2680 MHz where 2675 MHz is permitted'
  assert.equal(airOf(on, [ran('ok'), ran('down', refused)]), { is: 'off', why: refused })
})

air.run()
