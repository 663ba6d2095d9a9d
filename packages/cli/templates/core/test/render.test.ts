import type { CoreDesired } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { render } from '../src/render.ts'

const desired: CoreDesired = {
  plmn: { mcc: '001', mnc: '01' },
  tac: 7,
  apns: ['internet'],
  maxUes: 16,
}
const rendering = suite('sample-plugin/render')

rendering('writes a PLMN with its leading zeros', () => {
  const file = render(desired).files.get('network.json')
  assert.is(file, '{\n  "mcc": "001",\n  "mnc": "01",\n  "tac": 7\n}\n')
})

rendering('refuses what is no APN', () => {
  assert.throws(() => render({ ...desired, apns: ['inter net'] }), /"inter net" is no APN/)
})

rendering.run()
