import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { radioHealth } from '../src/radio-health.ts'
import { freshFacts, mayBeOnAir, type RadioFacts } from '../src/stream/radio-facts.ts'
import type { DesiredRadio } from '../src/supervisor/desired-radio.ts'
import { type RadioSnapshot, stateOf } from '../src/supervisor/radio-state.ts'
import { PROFILE } from './support/lab.ts'

const health = suite('driver-ran/health')

const ON: DesiredRadio = { isOn: true, profileId: 'mast', profile: PROFILE, isVirtual: false }
const OFF: DesiredRadio = { isOn: false, isArmed: false, reason: 'TX is not armed' }
const IDLE: RadioSnapshot = {
  state: 'off',
  desired: undefined,
  running: undefined,
  pid: undefined,
  facts: undefined,
  problem: undefined,
  leftBehind: undefined,
  complaints: undefined,
  restarts: 0,
}
const CARRIER: RadioFacts['carrier'] = {
  kind: 'carrier',
  stepMhz: 0.1,
  downlinkMhz: 2680,
  uplinkMhz: 2560,
  resourceBlocks: 25,
}
const of = (snapshot: Partial<RadioSnapshot>): ReturnType<typeof radioHealth> =>
  radioHealth({ snapshot: { ...IDLE, ...snapshot }, disagreement: undefined, hints: [] })

const facts = fc.record({
  isStarted: fc.boolean(),
  isConnected: fc.boolean(),
  carrier: fc.constantFrom(CARRIER, undefined),
  lossReason: fc.constantFrom('lost', undefined),
})
const desired = fc.constantFrom<DesiredRadio | undefined>(ON, OFF, undefined)
const running = { profileId: 'mast', isVirtual: false, downlinkMhz: 2680 } as const

health(
  'says of every radio that may be on air that it is, with profile and frequency, whatever is wanted',
  () => {
    fc.assert(
      fc.property(
        facts,
        desired,
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom('bad', undefined),
        (some, wanted, isHalting, isStalled, problem) => {
          const seen: RadioFacts = { ...freshFacts(), ...some }
          const state = stateOf(seen, isHalting, isStalled)
          const { detail, required, status } = of({
            state,
            desired: wanted,
            running,
            pid: 7,
            facts: seen,
            problem,
          })
          assert.match(detail, /radio with profile mast/)
          assert.is(required, true)
          if (wanted !== ON) assert.is(status, 'degraded')
          if (mayBeOnAir(seen)) assert.match(detail, /on air at 2680 MHz/)
          else assert.not.match(detail, /on air/)
          assert.not.match(detail, /does not run|^off|not started/)
        },
      ),
    )
  },
)

health('says nothing of air or core before the radio is up, although S1 is', () => {
  const seen = { ...freshFacts(), isConnected: true }
  const state = stateOf(seen, false, false)
  assert.equal(of({ state, desired: ON, running, facts: seen }), {
    name: 'ran',
    kind: 'ran',
    status: 'degraded',
    detail: 'radio with profile mast is starting',
    required: true,
    incident: 'no_radio',
  })
})

health('calls it a device that is gone when no program can open it', () => {
  const wanted = of({
    state: 'waiting',
    desired: ON,
    problem: 'srsenb cannot open the radio',
    isDeviceGone: true,
  })
  assert.equal([wanted.status, wanted.incident], ['down', 'no_radio_power'])
  assert.is(of({ state: 'waiting', desired: ON, problem: 'srsenb crashed' }).incident, 'no_radio')
})

health('tells a radio that is not let send from one that is not there', () => {
  const refused = of({
    state: 'refused',
    desired: ON,
    problem: 'the radio sends at 2680 MHz where 2675 MHz is permitted',
  })
  assert.equal(
    [refused.status, refused.incident, refused.detail],
    [
      'down',
      'radio_refused',
      'radio with profile mast is not started: the radio sends at 2680 MHz where 2675 MHz is permitted',
    ],
  )
})

health('is down until it is on air, when the one before has ended by itself', () => {
  const starting = {
    state: 'starting',
    desired: ON,
    running,
    facts: freshFacts(),
    again: 'srsenb crashed',
  } as const
  const seen = of({ ...starting, hasFailed: true, isDeviceGone: true })
  assert.equal([seen.status, seen.incident], ['down', 'no_radio_power'])
  assert.is(of({ ...starting, hasFailed: false }).status, 'degraded', 'it was changed')
  const facts = { ...freshFacts(), isStarted: true }
  assert.is(of({ ...starting, state: 'radio_up', facts, hasFailed: true }).status, 'degraded')
})

health('is not fine while the radio makes no progress, and shows what it complains of', () => {
  const seen = { ...freshFacts(), isConnected: true, isStarted: true, carrier: CARRIER }
  const board = (isStalled: boolean, more: Partial<RadioSnapshot>): string => {
    const { status, detail } = of({
      state: stateOf(seen, false, isStalled),
      desired: ON,
      running,
      facts: seen,
      ...more,
    })
    return `${status}: ${detail}`
  }
  assert.match(
    board(true, { problem: 'it has made no progress for 4 s' }),
    /^degraded: .* is not working, may be on air at 2680 MHz: it has made no progress for 4 s$/,
  )
  assert.match(board(false, { complaints: 'TX failed' }), /^ok: .*, 0 phones; it complains: TX failed$/)
})

health('says why nothing runs: the gate, a hold, or that nobody has asked yet', () => {
  assert.is(of({ desired: OFF }).detail, 'off: TX is not armed')
  assert.is(of({ desired: ON }).detail, 'off: held off')
  assert.is(of({}).detail, 'off: the TX gate has not been asked yet')
  assert.equal([of({}).status, of({}).required], ['ok', false])
})

health('is down and required while a radio of an earlier run may be on air', () => {
  const { status, required, detail } = of({
    desired: OFF,
    leftBehind: 'process 7 cannot be ended: it may be on air',
  })
  assert.equal([status, required], ['down', true])
  assert.match(detail, /process 7 cannot be ended: it may be on air/)
})

health.run()
