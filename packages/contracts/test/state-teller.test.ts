import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type StateChange, stateNews, stateTeller } from '../src/state-teller.ts'

const teller = suite('contracts/state-teller')

function world() {
  const told: StateChange[] = []
  const here = { nowMs: 0, told, isBroken: false, gate: Promise.resolve() }
  const write = async (changes: readonly StateChange[]): Promise<void> => {
    await here.gate
    if (here.isBroken) throw new Error('the store takes nothing')
    told.push(...changes)
  }
  return { here, tell: stateTeller({ monotonicMs: () => here.nowMs }, 'ok', write) }
}

const mme = (state: string): ReadonlyMap<string, string> => new Map([['mme', state]])

teller('tells of what is otherwise than it was told last, once', async () => {
  const { here, tell } = world()
  await tell(mme('ok'))
  await tell(mme('down'))
  await tell(mme('down'))
  await tell(new Map([...mme('ok'), ['hss', 'degraded']]))
  assert.equal(here.told, [
    { key: 'mme', state: 'down', was: 'ok' },
    { key: 'mme', state: 'ok', was: 'down' },
    { key: 'hss', state: 'degraded', was: 'ok' },
  ])
})

teller('tells with the next states what could not be told', async () => {
  const { here, tell } = world()
  here.isBroken = true
  await tell(mme('down'))
  here.isBroken = false
  await tell(mme('down'))
  assert.equal(here.told, [{ key: 'mme', state: 'down', was: 'ok' }])
})

teller('tells of one that flaps for a while no more, and then how it is', async () => {
  const { here, tell } = world()
  for (let i = 0; i < 200; i += 1) {
    here.nowMs += 100
    await tell(mme(i % 2 === 0 ? 'down' : 'ok'))
  }
  assert.is(here.told.length, 60)
  here.nowMs += 60_000
  await tell(mme('down'))
  assert.equal(here.told[60], { key: 'mme', state: 'down', was: 'ok' })
  assert.is(here.told.length, 61)
})

teller('writes one thing at a time, and the newest of what came meanwhile', async () => {
  const { here, tell } = world()
  const { promise, resolve } = Promise.withResolvers<void>()
  here.gate = promise
  const first = tell(mme('down'))
  void tell(mme('ok'))
  const last = tell(mme('degraded'))
  resolve()
  await Promise.all([first, last])
  assert.equal(
    here.told.map(({ state }) => state),
    ['down', 'degraded'],
  )
})

teller('makes an event of each change, and has the health asked', async () => {
  const events: object[] = []
  let asked = 0
  const tell = stateNews(
    {
      clock: { monotonicMs: () => 0, nowMs: () => 0 },
      healthChanged: () => {
        asked += 1
      },
      // The parts of a transaction that are used.
      observe: async (work) => work({ event: (event: object) => void events.push(event) } as never),
    },
    'off' as 'off' | 'starting',
    (change) => ({ type: 'ran.state', subject: 'ran', data: change }),
  )
  tell('off')
  tell('starting')
  await Promise.resolve()
  tell('starting')
  assert.equal(events, [{ type: 'ran.state', subject: 'ran', data: { state: 'starting', was: 'off' } }])
  assert.is(asked, 1)
})

teller.run()
