import { assert, suite } from '@steeple/testkit'
import type { RequestContext } from '../src/pipeline/request-context.ts'
import { Shares } from '../src/pipeline/shares.ts'

const turns = suite('api/turns')

const LIMITS = { running: 64, waiting: 4_096, unreadBytes: 1e9, unreadBytesInAll: 1e9 }
/** As in `Shares`. */
const TURN_MS = 8

/** Requests of one principal that wait for a turn, and how many of them each turn of the event loop began. */
interface Waiting {
  readonly shares: Shares
  readonly begun: number[]
  /** What the work for each of them takes. */
  workMs: number
}

/** The first use of a turn's time leaves none for the rest. */
function waitingTotal(size: number, workMs: number): Waiting {
  let nowMs = 0
  const shares = new Shares(LIMITS, () => nowMs)
  const world: Waiting = { shares, begun: [], workMs }
  const request = (): RequestContext =>
    // What `Shares` needs of one.
    ({ principal: { id: 'one' }, startedMs: nowMs, isOver: false, onOver: () => undefined }) as never
  assert.is(shares.admit(request()), undefined, 'the first begins at once')
  nowMs += TURN_MS
  let thisTurn = 0
  const endTurn = (): void => {
    world.begun.push(thisTurn)
    thisTurn = 0
    if (world.begun.length < 100) setImmediate(endTurn)
  }
  setImmediate(endTurn)
  for (let number = 0; number < size; number += 1) {
    const context = request()
    void shares.admit(context)?.then(async () => {
      thisTurn += 1
      // Work as a handler over the store has it: some promises, nothing to wait for.
      for (let hop = 0; hop < 10; hop += 1) await undefined
      nowMs += world.workMs
      shares.done(context)
    })
  }
  return world
}

async function turnsOf(world: Waiting): Promise<readonly number[]> {
  while (world.begun.length < 100) await new Promise((resolve) => setImmediate(resolve))
  return world.begun.filter((count) => count > 0)
}

turns('begins as many that waited in one turn as there is time for', async () => {
  assert.equal(await turnsOf(waitingTotal(60, 0.01)), [1, 59])
})

turns('begins one a turn when one takes the time of a turn', async () => {
  assert.equal(await turnsOf(waitingTotal(5, 2 * TURN_MS)), [1, 1, 1, 1, 1])
})

turns('begins no more within a turn once its time is up', async () => {
  const counts = await turnsOf(waitingTotal(20, TURN_MS / 4))
  assert.ok(Math.max(...counts) <= 4, counts.join(' '))
  assert.is(
    counts.reduce((sum, count) => sum + count, 0),
    20,
  )
})

turns('does not count those that left among those that wait', () => {
  const shares = new Shares({ ...LIMITS, running: 1, waiting: 2 }, () => 0)
  const request = () => ({ principal: { id: 'one' }, startedMs: 0, isOver: false, onOver: () => undefined })
  const [first, ...others] = [request(), request(), request(), request()]
  // What `Shares` needs of one.
  assert.is(shares.admit(first as never), undefined)
  for (const one of others.slice(0, 2)) void shares.admit(one as never)
  assert.throws(() => shares.admit(others[2] as never), 'under way')
  for (const one of others.slice(0, 2)) {
    one.isOver = true
    shares.leave(one as never)
  }
  assert.ok(shares.admit(others[2] as never) instanceof Promise)
})

turns.run()
