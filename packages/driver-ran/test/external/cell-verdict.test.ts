import { assert, suite } from '@steeple/testkit'
import { type CellLook, type CellPast, cellVerdict } from '../../src/external/cell-verdict.ts'

const verdict = suite('driver-ran/external/cell-verdict')

const OFF = { isOn: false }
const drawing = (isZero: boolean) =>
  ({ ...OFF, meter: { of: 'power', isZero, shown: isZero ? '0 W' : '9 W' } }) as const
const sending = (isZero: boolean) => ({ ...OFF, meter: { of: 'transmitter', isZero, shown: 'RF' } }) as const
const SILENT = { unknown: 'no answer' }
const PAST: CellPast = { wasOn: false, wasSeen: false, quietMs: 1_000_000 }

function state(
  reading: CellLook['reading'],
  sighting: CellLook['sighting'],
  past: Partial<CellPast> = {},
): string {
  return cellVerdict({ reading, sighting }, { ...PAST, ...past }).state
}

verdict('a switch that does not answer is never off', () => {
  for (const sighting of ['gone', 'closed', SILENT] as const) assert.is(state(SILENT, sighting), 'unknown')
  assert.is(state(SILENT, 'seen'), 'on')
  assert.is(state(SILENT, 'knocking'), 'on')
})

verdict('a switch that is on is on, whatever else is said', () => {
  assert.is(state({ isOn: true, meter: drawing(true).meter }, 'gone'), 'on')
  assert.is(state({ isOn: true, meter: sending(true).meter }, 'gone'), 'on')
})

verdict('what draws power or sends is on', () => {
  assert.is(state(drawing(false), 'gone'), 'on')
  assert.is(state(sending(false), 'gone'), 'on')
})

verdict('no power proves it, unless the core has it: then it is fed from elsewhere', () => {
  assert.is(state(drawing(true), 'gone'), 'off')
  assert.is(state(drawing(true), SILENT, { wasOn: true }), 'off')
  assert.is(state(drawing(true), 'seen'), 'on')
  assert.is(state(drawing(true), 'knocking'), 'on')
})

verdict('a cell that says that its transmitter is off may keep its association', () => {
  assert.is(state(sending(true), 'seen'), 'off')
})

verdict(
  'without a meter the core proves it, of a cell that it has not seen only after the time that one takes to come up',
  () => {
    assert.is(state(OFF, 'seen', { wasOn: true, wasSeen: true }), 'on')
    assert.is(state(OFF, 'gone', { wasOn: true, wasSeen: true }), 'off')
    assert.is(state(OFF, 'gone', { wasOn: true, quietMs: 599_000 }), 'unknown')
    assert.is(state(OFF, 'gone', { wasOn: true, quietMs: 600_000 }), 'off')
    assert.is(state(OFF, 'gone'), 'off')
    assert.is(state(OFF, SILENT, { wasOn: true, wasSeen: true }), 'unknown')
    assert.is(state(OFF, SILENT), 'unknown')
  },
)

verdict('a core that is closed to it proves it by a time without a question', () => {
  assert.is(state(OFF, 'knocking'), 'on')
  assert.is(state(OFF, 'closed', { wasOn: true, wasSeen: true, quietMs: 60_000 }), 'unknown')
  assert.is(state(OFF, 'closed', { wasOn: true, wasSeen: true, quietMs: 120_000 }), 'off')
  assert.is(state(OFF, 'closed'), 'off')
})

verdict.run()
