import { assert, suite } from '@steeple/testkit'
import type { Move } from '../src/pages/subscriber/follow.ts'
import { inBrowser } from './support/page.ts'

const { isOvertaken, stepOf } = await import('../src/pages/subscriber/follow.ts')

/** Success is said when it is known. */
const steps = suite('console/steps')
inBrowser(steps)

/** The step of a SIM whose change stands like that. */
function of(move: Move, status: string, waits_for: string | null, isAway = false): string {
  return stepOf(move, { state: 'suspended', provisioning: { status, waits_for } }, isAway)
}

steps('says that a phone is off when it is, and before that how far it is', () => {
  for (const move of ['suspend', 'revoke'] as const) {
    const all = [of(move, 'pending', null), of(move, 'pending', 'phone'), of(move, 'synced', null)]
    assert.equal(all, ['asked', 'blocked', 'off'])
  }
})

steps('says that a phone may use the network again when the core knows, and not before', () => {
  assert.equal([of('resume', 'pending', null), of('resume', 'synced', null)], ['asked', 'may'])
  // A word of the suspension before it says nothing of the resume.
  assert.is(of('resume', 'pending', 'phone'), 'asked')
})

steps('says at once that the core cannot be reached, by its own error and by an outage', () => {
  for (const move of ['suspend', 'resume', 'revoke'] as const) {
    assert.is(of(move, 'pending', 'hss'), 'away')
    assert.is(of(move, 'pending', null, true), 'away')
    assert.is(of(move, 'failed', null), 'failed')
  }
  // The record is written, and the core that is to read it is gone.
  assert.is(of('resume', 'synced', null, true), 'away')
  assert.is(of('suspend', 'pending', 'phone', true), 'away')
  // A phone that is known to be off is off.
  assert.is(of('suspend', 'synced', null, true), 'off')
})

steps('ends where somebody has done something else to the SIM since', () => {
  const over = (move: Move) =>
    ['issued', 'in-use', 'suspended', 'revoked'].map((state) => isOvertaken(move, { state }))
  assert.equal(over('suspend'), [true, true, false, true])
  assert.equal(over('resume'), [false, false, true, true])
  assert.equal(over('revoke'), [true, true, true, false])
})

steps.run()
