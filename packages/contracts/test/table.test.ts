import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isServiceError } from '../src/errors.ts'
import { defineTable, rowSum } from '../src/table.ts'

const table = suite('contracts/table')

interface Toy {
  readonly id: string
  readonly size: number | null
  readonly secret: Uint8Array
}
const COLUMNS = ['id', 'size', 'secret'] as const
const TOYS = defineTable<Toy>('toy_box', COLUMNS, ['id'])
const bear: Toy = { id: 'bear', size: 3, secret: Uint8Array.of(1, 2, 255) }

table('opens a row that is as it was sealed', () => {
  assert.equal(TOYS.open({ ...bear, row_sum: rowSum(COLUMNS, { ...bear }) }), bear)
})

table('finds every flipped bit of every value', () => {
  const sum = rowSum(COLUMNS, { ...bear })
  const broken: Toy[] = []
  for (let bit = 0; bit < 7; bit++) broken.push({ ...bear, id: `${String.fromCharCode(98 ^ (1 << bit))}ear` })
  for (let bit = 0; bit < 8; bit++)
    broken.push({ ...bear, size: 3 ^ (1 << bit) }, { ...bear, secret: Uint8Array.of(1, 2 ^ (1 << bit), 255) })
  broken.push({ ...bear, size: null }, { ...bear, id: '' })
  for (const row of broken) {
    assert.throws(
      () => TOYS.open({ ...row, row_sum: sum }),
      (error: unknown) =>
        isServiceError(error) && error.code === 'store_corrupt' && !error.message.includes('bear'),
    )
  }
})

table('does not take a value moved to another column for the same row', () => {
  interface Pair {
    readonly a: string
    readonly b: string
  }
  const pairs = defineTable<Pair>('toy_pair', ['a', 'b'], ['a'])
  assert.throws(() => pairs.open({ a: 'y', b: 'x', row_sum: rowSum(['a', 'b'], { a: 'x', b: 'y' }) }))
})

table.run()
