import { assert, suite } from '@steeple/testkit'
import { clockCheck, networkCheck } from '../src/diagnosis/diagnose.ts'

/** Whether a SIM is of the network that the node is, and whether its clock says so. */
const network = suite('sims/network-check')

type Given = Parameters<typeof networkCheck>[0]
const row = {
  hash: '0123456789ab' as Given['row']['hash'],
  state: 'in-use' as const,
  suspend_reason: null,
  expires_at_ms: 0,
  batch_id: null,
  apns: '["internet","ims"]',
  plmn: '999-70',
}
const settings = { plmn: { mcc: '999', mnc: '70' }, tac: 7 } as Given['settings']
const of = (differs: Partial<Given> = {}) =>
  networkCheck({ row, settings, apns: ['ims', 'internet', 'farm'], ...differs })

network('finds nothing odd about a SIM of this network', () => {
  const { status, advice } = of()
  assert.equal([status, advice], ['ok', null])
})

network('says that a SIM was issued under another number, and what to do', () => {
  const { status, detail, advice } = of({ row: { ...row, plmn: '262-98' } })
  assert.is(status, 'warning')
  assert.match(detail, /of 262-98, and this network is 999-70/)
  assert.match(advice ?? '', /--replaces 0123456789ab/)
})

network('names the access points that the network does not have', () => {
  const { status, detail, advice } = of({ apns: ['internet', 'farm'] })
  assert.is(status, 'warning')
  assert.match(detail, /may use ims,/)
  assert.match(advice ?? '', /internet, farm/)
})

network('says why the clock is not believed, and what to do', () => {
  assert.is(clockCheck({ doubt: undefined }).status, 'ok')
  const { status, detail, advice } = clockCheck({ doubt: 'it went back by a day' })
  assert.is(status, 'warning')
  assert.match(detail, /it went back by a day/)
  assert.match(advice ?? '', /svc clock confirm/)
})

network.run()
