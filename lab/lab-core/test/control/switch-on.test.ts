import { assert, suite } from '@steeple/testkit'
import { switchOn } from '../../src/control/control-server.ts'
import type { PhoneState } from '../../src/phones/phone.ts'

const switching = suite('lab-core/switch-on')

/** A phone whose network comes to know its card at `knownAtMs` of a clock that only sleeping moves. */
function phoneAndClock(knownAtMs: number) {
  let nowMs = 0
  let tries = 0
  let state: PhoneState = 'off'
  return {
    phone: {
      get state() {
        // An answer takes a moment.
        if (state === 'attaching') state = nowMs >= knownAtMs ? 'connected' : 'barred'
        return state
      },
      powerOn: () => {
        tries += state === 'off' ? 1 : 0
        if (state === 'off') state = 'attaching'
      },
      powerOff: () => {
        state = 'off'
      },
    },
    clock: {
      nowUs: () => nowMs * 1000,
      sleep: async (ms: number) => {
        nowMs += ms
      },
    },
    tries: () => tries,
    nowMs: () => nowMs,
  }
}

switching('tries again while the network does not know the card yet', async () => {
  const one = phoneAndClock(1_000)
  await switchOn(one.phone, one.clock)
  assert.is(one.phone.state, 'connected')
  assert.is(one.nowMs(), 1_000)
})

switching('tries once where the card is known', async () => {
  const one = phoneAndClock(0)
  await switchOn(one.phone, one.clock)
  assert.equal([one.phone.state, one.tries(), one.nowMs()], ['connected', 1, 0])
})

switching('gives up on a card that nobody knows', async () => {
  const one = phoneAndClock(Number.POSITIVE_INFINITY)
  await switchOn(one.phone, one.clock)
  assert.equal([one.phone.state, one.nowMs()], ['barred', 5_000])
})

switching.run()
