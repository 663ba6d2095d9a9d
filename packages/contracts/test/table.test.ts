import { crc32 } from 'node:zlib'
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

table('sums texts as a store gives them back', () => {
  const lone = String.fromCharCode(0xd800)
  for (const id of [`be${lone}ar`, lone, String.raw`\ud800`, String.raw`\\ud800 ${lone}`, 'b\u{1f43b}r', ''])
    assert.is(
      rowSum(COLUMNS, { ...bear, id }),
      rowSum(COLUMNS, { ...bear, id: id.toWellFormed() }),
      JSON.stringify(id),
    )
  const moved = { ...bear, id: String.raw`\ud800` }
  assert.is.not(rowSum(COLUMNS, moved), rowSum(COLUMNS, { ...bear, id: lone }))
})

table('takes no column whose name is no name', () => {
  const strange = "a']};process.exit();" as 'id'
  assert.throws(() => defineTable<Toy>('toy_box', [...COLUMNS, strange], ['id']), /no name of a column/)
  assert.throws(() => rowSum([strange], { ...bear }), /no name of a column/)
})

interface Grown extends Toy {
  readonly colour: string | null
  readonly shape: string | null
}
const GROWN_COLUMNS = [...COLUMNS, 'colour', 'shape'] as const
const plainBear: Grown = { ...bear, colour: null, shape: null }

table(
  'opens rows of an older version, whatever an added column holds, and finds what was flipped in them',
  () => {
    const grown = defineTable<Grown>('toy_box', GROWN_COLUMNS, ['id'])
    const sum = rowSum(COLUMNS, { ...bear })
    const byDefault = { ...plainBear, colour: 'brown' }
    for (const row of [plainBear, byDefault]) assert.equal(grown.open({ ...row, row_sum: sum }), row)
    assert.throws(() => grown.open({ ...plainBear, size: 4, row_sum: sum }))
  },
)

table('sums an added column in the rows of its own version', () => {
  const grown = defineTable<Grown>('toy_box', GROWN_COLUMNS, ['id'])
  const red: Grown = { ...plainBear, colour: 'red' }
  const sum = rowSum(GROWN_COLUMNS, { ...red })
  assert.equal(grown.open({ ...red, row_sum: sum }), red)
  for (const wrong of [{ ...red, colour: 'rad' }, plainBear, { ...red, shape: 'red' }])
    assert.throws(() => grown.open({ ...wrong, row_sum: sum }))
})

table('opens rows of a later version, and checks them whole once it has learnt the columns', () => {
  const older = defineTable<Toy>('toy_box', COLUMNS, ['id'])
  const red = { ...bear, colour: 'red', shape: null }
  const row_sum = rowSum(GROWN_COLUMNS, red)
  assert.equal(older.open({ ...bear, row_sum }), bear)
  older.learn(GROWN_COLUMNS)
  assert.equal(older.open({ ...red, row_sum }), bear)
  const rad = { ...red, colour: 'rad', row_sum }
  assert.throws(() => older.open(rad))
  assert.throws(() => older.open({ ...red, size: 4, row_sum }))
})

table('finds every flip within one byte of the sum itself', () => {
  const sum = rowSum(COLUMNS, { ...bear })
  for (let byte = 0; byte < 7; byte++)
    for (let flip = 1; flip < 256; flip++) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigUInt64BE(BigInt(sum))
      bytes.writeUInt8(bytes.readUInt8(7 - byte) ^ flip, 7 - byte)
      const row_sum = Number(bytes.readBigUInt64BE())
      assert.throws(() => TOYS.open({ ...bear, row_sum }), undefined, `byte ${byte}, flip ${flip}`)
    }
})

table('opens rows from before sums told how many columns they cover', () => {
  const grown = defineTable<Grown>('toy_box', GROWN_COLUMNS, ['id'])
  const of = (values: readonly unknown[]): number => crc32(JSON.stringify(values))
  const values = ['bear', 3, '0102ff']
  assert.equal(grown.open({ ...plainBear, row_sum: of(values) }), plainBear)
  const red: Grown = { ...plainBear, colour: 'red' }
  assert.equal(grown.open({ ...red, row_sum: of([...values, 'colour', 'red']) }), red)
  assert.throws(() => grown.open({ ...red, size: 4, row_sum: of([...values, 'colour', 'red']) }))
})

table.run()
