import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRowMemory } from '../src/known-rows.ts'

const memory = suite('contracts/row-memory')
const keep = (rows: ReturnType<typeof createRowMemory<{ readonly n: number }, string>>, n: number) =>
  rows.recall(n, `text ${n}`) ?? rows.keep(n, `text ${n}`, { n })

memory('remembers a row from the second time on, and by its whole text alone', () => {
  const rows = createRowMemory<{ readonly n: number }, string>()
  const first = keep(rows, 7)
  assert.is.not(keep(rows, 7), first)
  assert.is(rows.recall(7, 'text 7'), keep(rows, 7))
  assert.is(rows.recall(7, 'text 8'), undefined, 'two rows with one sum')
  assert.is(rows.recall(8, 'text 7'), undefined)
})

memory('keeps what is asked for, and lets the rest go', () => {
  const rows = createRowMemory<{ readonly n: number }, string>()
  keep(rows, 0)
  const often = keep(rows, 0)
  for (let n = 1; n < 5_000; n++) {
    keep(rows, n)
    keep(rows, n)
    if (n % 100 === 0) assert.is(rows.recall(0, 'text 0'), often)
  }
  const held = Array.from({ length: 5_000 }, (_, n) => rows.recall(n, `text ${n}`)).filter(
    (one) => one !== undefined,
  )
  assert.ok(held.length >= 512 && held.length <= 1_024, `${held.length} rows`)
})

memory('is not filled by who reads each row once, nor by long ones', () => {
  const rows = createRowMemory<{ readonly n: number }, string>()
  const walked = 3_000
  for (let n = 0; n < walked; n++) keep(rows, n)
  for (let n = 0; n < walked; n++) assert.is(rows.recall(n, `text ${n}`), undefined)
  const long = 'x'.repeat(5_000)
  for (let round = 0; round < 3; round++) rows.keep(1, long, { n: 1 })
  assert.is(rows.recall(1, long), undefined)
})

memory.run()
