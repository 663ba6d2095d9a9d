import { setImmediate as turn } from 'node:timers/promises'
import { assert, eventually, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { runDbctl } from '../../src/dbctl/commands.ts'
import type { LabCore } from '../../src/lab-core.ts'
import type { NamedPhone } from '../../src/phones/fleet.ts'
import { FAST, QUICK, RECORDED, startLab } from '../support/lab.ts'

const order = suite('lab-core/phones in any order')
const { imsi, ki, opc } = RECORDED
const draw = () => '6b00336d94c05ec68f531651'

type Step = (lab: LabCore, named: NamedPhone) => unknown
const dbctl =
  (...words: readonly string[]): Step =>
  (lab) =>
    runDbctl(words, { subscribers: lab.subscribers, draw })

const STEPS: Readonly<Record<string, Step>> = {
  attach: (_lab, { phone }) => phone.attach(),
  detach: (_lab, { phone }) => phone.detach(),
  idle: (_lab, { phone }) => phone.goIdle(),
  serviceRequest: (_lab, { phone }) => phone.serviceRequest(),
  powerOff: (_lab, { phone }) => phone.powerOff(),
  powerOn: (_lab, { phone }) => phone.powerOn(),
  data: (lab, named) => void lab.traffic.move(named, { up: 28, down: 28 }, FAST),
  radioDown: (lab) => lab.mme.setRadio(false),
  radioUp: (lab) => lab.mme.setRadio(true),
  block: dbctl('block', imsi),
  unblock: dbctl('unblock', imsi),
  cancel: dbctl('cancel_location', imsi),
  ambr: dbctl('ambr_speed', imsi, '1', '2', '1', '2'),
  remove: dbctl('remove', imsi),
  add: dbctl('add', imsi, ki, opc),
}

/** What phone, MME and SMF say of one subscriber. */
function views(lab: LabCore, { phone }: NamedPhone): string {
  const context = lab.mme.contexts().find((one) => one.imsi === imsi)
  const isRegistered = context?.state === 'registered' && context.session !== undefined
  const isSame = context?.session === lab.sessions.of(imsi)
  return `${phone.isAttached} ${isRegistered} ${lab.sessions.of(imsi) !== undefined} ${isSame}`
}

order('whatever happens, all sides agree in the end, and a phone that may be on comes on', async () => {
  const steps = fc.array(fc.tuple(fc.constantFrom(...Object.keys(STEPS)), fc.nat(40)), { maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(steps, async (chosen) => {
      await using lab = await startLab({ hopMs: 0, timers: QUICK })
      const [named] = await lab.fleet.insert([RECORDED])
      if (named === undefined) throw new Error('no phone')
      named.phone.powerOn()
      for (const [name, turns] of chosen) {
        void STEPS[name]?.(lab, named)
        for (let i = 0; i < turns; i += 1) await turn()
      }
      for (const name of ['radioUp', 'add', 'unblock']) await STEPS[name]?.(lab, named)
      // Until no cancel request is under way any more.
      await lab.subscribers.update(imsi, ({ request_cancel_location, ...doc }) => doc)
      await eventually(() => {
        if (named.phone.state === 'barred') named.phone.powerOff()
        if (named.phone.state === 'off') named.phone.powerOn()
        if (named.phone.state === 'detached') named.phone.attach()
        return named.phone.isAttached
      })
      await eventually(() => assert.is(views(lab, named), 'true true true true'))
      named.phone.powerOff()
      await eventually(() => assert.is(views(lab, named), 'false false false true'))
      assert.equal(lab.sessions.list(), [])
      assert.is(lab.sessions.created, lab.sessions.deleted)
    }),
    { numRuns: 40 },
  )
})

order.run()
