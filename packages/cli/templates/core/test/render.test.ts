import type { CoreDesired } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { render } from '../src/render.ts'

const desired: CoreDesired = {
  plmn: { mcc: '001', mnc: '01' },
  tac: 7,
  apns: ['internet'],
  maxUes: 16,
  addresses: { sgwu: '127.0.0.6', mme: '127.0.0.2' },
}
const rendering = suite('sample-plugin/render')

rendering('writes a PLMN with its leading zeros', () => {
  const file = render(desired).files.get('network.json')
  assert.is(file, '{\n  "mcc": "001",\n  "mnc": "01",\n  "tac": 7\n}\n')
})

rendering('does not depend on the order of the addresses', () => {
  const other = { ...desired, addresses: { mme: '127.0.0.2', sgwu: '127.0.0.6' } }
  assert.is(render(other).sha256, render(desired).sha256)
})

rendering('refuses what is no APN', () => {
  assert.throws(() => render({ ...desired, apns: ['inter net'] }), /"inter net" is no APN/)
})

rendering.run()
