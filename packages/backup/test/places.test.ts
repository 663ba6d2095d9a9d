import { assert, eventually, suite } from '@steeple/testkit'
import { createPlaces } from '../src/routes/backup-route.ts'

const test = suite('backup/places')
const LONG_MS = 600_000
const never = new AbortController().signal
const refusal = (): Error => new Error('none is free')

test('gives no more places than there are, and each that is given back to the next in turn', async () => {
  const place = createPlaces(2, LONG_MS, refusal)
  const order: number[] = []
  const given: (() => void)[] = []
  const all = [0, 1, 2, 3, 4].map(async (who) => {
    given.push(await place(never))
    order.push(who)
  })
  await eventually(() => assert.is(order.length, 2))
  // Two at one moment: the one that was called first must not be called again.
  given[0]?.()
  given[1]?.()
  await eventually(() => assert.is(order.length, 4))
  assert.equal(order, [0, 1, 2, 3])
  given[2]?.()
  await Promise.all(all)
  assert.equal(order, [0, 1, 2, 3, 4])
})

test('keeps no place for one that has left or has waited too long', async () => {
  const place = createPlaces(1, 1, refusal)
  const giveBack = await place(never)
  await assertRejects(place(never), /none is free/)
  const patient = createPlaces(1, LONG_MS, refusal)
  const first = await patient(never)
  const leaver = new AbortController()
  const left = patient(leaver.signal)
  const last = patient(never)
  leaver.abort(new Error('gone'))
  first()
  await assertRejects(left, /gone/)
  ;(await last)()
  giveBack()
  ;(await place(never))()
  await assertRejects(place(leaver.signal), /gone/)
})

async function assertRejects(work: Promise<unknown>, reason: RegExp): Promise<void> {
  const said = await work.then(
    () => 'nothing',
    (error: unknown) => String(error),
  )
  assert.match(said, reason)
}

test.run()
