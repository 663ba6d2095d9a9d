import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { moved, type SimAction, wantedInHss } from '../src/states/change.ts'
import { SIM_STATES, type SimLifecycle } from '../src/store/sim-store.ts'

const machine = suite('sims/machine')

const ACTIONS: readonly SimAction[] = ['attach', 'suspend', 'resume', 'expire', 'unexpire', 'revoke']

/** Contract section 6 written another way: facts of a SIM's life instead of a state and a table. */
interface Life {
  hasAttached: boolean
  isSuspended: boolean
  isExpired: boolean
  isRevoked: boolean
}

function stateOf(life: Life): string {
  if (life.isRevoked) return 'revoked'
  if (life.isExpired) return 'expired'
  if (life.isSuspended) return 'suspended'
  return life.hasAttached ? 'in-use' : 'issued'
}

/** Lives through an action; false when the contract lacks the move. */
function live(life: Life, action: SimAction): boolean {
  if (action === 'revoke') {
    life.isRevoked = true
    return true
  }
  if (life.isRevoked) return false
  if (action === 'expire') {
    life.isExpired = true
    return true
  }
  if (action === 'unexpire') {
    const wasExpired = life.isExpired
    life.isExpired = false
    return wasExpired
  }
  if (life.isExpired) return false
  if (action === 'attach') {
    if (life.isSuspended) return false
    life.hasAttached = true
  } else life.isSuspended = action === 'suspend'
  return true
}

machine('moves as the contract says, whatever happens in whatever order', () => {
  const lives = fc.array(fc.constantFrom(...ACTIONS), { maxLength: 30 })
  fc.assert(
    fc.property(lives, (actions) => {
      const life: Life = { hasAttached: false, isSuspended: false, isExpired: false, isRevoked: false }
      let standing: SimLifecycle = { state: 'issued', previous_state: null, suspend_reason: null }
      for (const action of actions) {
        const isPossible = live(life, action)
        const next = moved(standing, action)
        assert.is(next !== undefined, isPossible, `${action} in ${standing.state}`)
        standing = next ?? standing
        assert.is(standing.state, stateOf(life))
        // What an expired SIM was is kept for the day on which the clock turns out to have been wrong.
        assert.is(standing.suspend_reason !== null, life.isSuspended && !life.isRevoked)
        assert.is(standing.previous_state !== null, ['suspended', 'expired'].includes(standing.state))
      }
    }),
  )
})

machine('gives the very same standing back when a move holds already', () => {
  for (const state of SIM_STATES) {
    const isSuspended = state === 'suspended'
    const standing: SimLifecycle = {
      state,
      previous_state: isSuspended ? 'in-use' : null,
      suspend_reason: isSuspended ? 'operator' : null,
    }
    for (const action of ACTIONS) {
      const next = moved(standing, action)
      if (next?.state === state) assert.ok(next === standing, `${action} in ${state}`)
    }
  }
})

machine("lets an operator's suspension stand over one by quota, and not the other way round", () => {
  const byQuota = moved({ state: 'in-use', previous_state: null, suspend_reason: null }, 'suspend', 'quota')
  assert.equal(byQuota, { state: 'suspended', previous_state: 'in-use', suspend_reason: 'quota' })
  const byOperator = moved(byQuota!, 'suspend', 'operator')
  assert.equal(byOperator, { state: 'suspended', previous_state: 'in-use', suspend_reason: 'operator' })
  assert.ok(moved(byOperator!, 'suspend', 'quota') === byOperator)
})

machine('gives back suspended what expired before its state was kept', () => {
  const old: SimLifecycle = { state: 'expired', previous_state: null, suspend_reason: null }
  assert.equal(moved(old, 'unexpire'), {
    state: 'suspended',
    previous_state: 'issued',
    suspend_reason: 'operator',
  })
})

machine('leaves nobody in the HSS who may not be there', () => {
  assert.equal(SIM_STATES.map(wantedInHss), ['open', 'open', 'blocked', 'absent', 'absent'])
})

machine.run()
