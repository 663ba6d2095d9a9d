import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTurns } from '../src/pause.ts'

const turns = suite('contracts/turns')

turns('does one thing after another, in order, and lets a failure stop nobody', async () => {
  const inTurn = createTurns()
  const told: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = inTurn(async () => {
    told.push('first begins')
    await gate.promise
    told.push('first ends')
    return 1
  })
  const second = inTurn(async () => {
    told.push('second')
    throw new Error('broken')
  })
  const third = inTurn(async () => {
    told.push('third')
    return 3
  })
  await Promise.resolve()
  assert.equal(told, ['first begins'])
  gate.resolve()
  const [one, two, three] = await Promise.allSettled([first, second, third])
  assert.equal(told, ['first begins', 'first ends', 'second', 'third'])
  assert.equal([one.status, two.status, three.status], ['fulfilled', 'rejected', 'fulfilled'])
  assert.is(await third, 3)
})

turns.run()
