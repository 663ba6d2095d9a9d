import type { LifecycleState } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import {
  afterArming,
  afterDisarming,
  decide,
  type Facts,
  spelling,
  statusOf,
  TRANSITIONS,
} from '../src/lifecycle.ts'

const table = suite('nodes/lifecycle-table')
const STATES: readonly LifecycleState[] = ['provision', 'register', 'on_air', 'peer', 'breakout']
const NOTHING: Facts = { certificate: false, tx_armed: false, mesh_joined: false, routes_exchanged: false }
const EVERYTHING: Facts = { certificate: true, tx_armed: true, mesh_joined: true, routes_exchanged: true }
const WORDS = new Set([...STATES, 'on-air', 'bootstrap', 'registered', 'peered'] as string[])
const anyState = fc.constantFrom(...STATES)
const anyFacts = fc.record({
  certificate: fc.boolean(),
  tx_armed: fc.boolean(),
  mesh_joined: fc.boolean(),
  routes_exchanged: fc.boolean(),
})

table('allows the pairs of the specification and no other', () => {
  const allowed = STATES.flatMap((from) =>
    STATES.filter((to) => decide(from, { from, to, force: false }, EVERYTHING).isAllowed).map(
      (to) => `${from}>${to}`,
    ),
  )
  assert.equal(allowed, [
    'provision>register',
    'register>on_air',
    'on_air>register',
    'on_air>peer',
    'peer>on_air',
    'peer>breakout',
  ])
})

table('refuses a from that is not the current state and names both', () => {
  const decision = decide('register', { from: 'on_air', to: 'peer', force: true }, EVERYTHING)
  assert.ok(!decision.isAllowed)
  assert.match(decision.reason, /register/)
  assert.match(decision.reason, /on-air/)
})

table('says what to do about what is missing', () => {
  const onAir = decide('register', { from: 'register', to: 'on_air', force: true }, NOTHING)
  assert.ok(!onAir.isAllowed)
  assert.match(onAir.reason, /TX is not armed/)
  const peer = decide('on_air', { from: 'on_air', to: 'peer', force: false }, { ...NOTHING, tx_armed: true })
  assert.ok(!peer.isAllowed)
  assert.match(peer.reason, /has not joined a mesh/)
})

table('forces mesh prerequisites and says so, but nothing that is fulfilled', () => {
  const facts = { ...NOTHING, tx_armed: true }
  assert.equal(decide('on_air', { from: 'on_air', to: 'peer', force: true }, facts), {
    isAllowed: true,
    to: 'peer',
    isForced: true,
  })
  assert.equal(decide('on_air', { from: 'on_air', to: 'peer', force: true }, EVERYTHING), {
    isAllowed: true,
    to: 'peer',
    isForced: false,
  })
})

table('lets no request reach the air with a closed TX gate, forced or not', () => {
  fc.assert(
    fc.property(anyState, anyState, fc.boolean(), anyFacts, (from, to, force, facts) => {
      const decision = decide(from, { from, to, force }, { ...facts, tx_armed: false })
      return !decision.isAllowed || to === 'register'
    }),
  )
})

table('moves by itself as the TX gate does', () => {
  assert.equal(
    STATES.map((state) => afterArming(state, true)),
    ['on_air', 'on_air', 'on_air', 'peer', 'breakout'],
  )
  assert.is(afterArming('provision', false), 'provision')
  assert.equal(STATES.map(afterDisarming), ['provision', 'register', 'register', 'register', 'register'])
})

table('maps states to statuses and lays the overlay over any of them', () => {
  assert.equal(
    STATES.map((state) => statusOf(state, false)),
    ['bootstrap', 'registered', 'on-air', 'peered', 'peered'],
  )
  assert.ok(STATES.every((state) => statusOf(state, true) === 'degraded'))
})

table('reads each state as answers spell it and as the status calls it', () => {
  for (const { from, to } of TRANSITIONS) {
    for (const name of [from, spelling(from), statusOf(from, false), 'degraded']) {
      for (const target of [to, spelling(to), ...(to === 'breakout' ? [] : [statusOf(to, false)])]) {
        const decision = decide(from, { from: name, to: target, force: false }, EVERYTHING)
        assert.equal(decision, { isAllowed: true, to, isForced: false }, `${name} > ${target}`)
      }
    }
  }
})

table('has no transition from or to a word that is no state', () => {
  const anyWord = fc.oneof(
    fc.string(),
    fc.constantFrom('degraded', 'onair', 'ON-AIR', 'toString', '__proto__'),
  )
  fc.assert(
    fc.property(anyState, anyState, anyWord, (from, to, word) => {
      fc.pre(!WORDS.has(word))
      return (
        !decide(from, { from, to: word, force: true }, EVERYTHING).isAllowed &&
        (word === 'degraded' || !decide(from, { from: word, to, force: true }, EVERYTHING).isAllowed)
      )
    }),
  )
})

table('has every pair once', () => {
  assert.is(new Set(TRANSITIONS.map(({ from, to }) => `${from}>${to}`)).size, TRANSITIONS.length)
})

table.run()
