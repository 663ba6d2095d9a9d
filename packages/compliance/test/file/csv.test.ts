import { csvLine } from '@steeple/contracts'
import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { COLUMN_NAMES, cellsOf, HEADER, plainCell, rowLine } from '../../src/file/csv.ts'
import { linesOf } from '../../src/file/verify.ts'
import { inPieces } from '../support/node.ts'

const test = suite('CSV of the regulator')

/** Any text, with what readers stumble over more often than chance has it. */
const TEXT = fc.oneof(
  fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) }),
  fc.string({
    unit: fc.constantFrom('=', '+', '-', '@', '"', "'", ',', ';', '\t', '\r', '\n', ' ', 'a', 'é', '＝'),
  }),
)

test('a strict reader gets back what was written, whatever it is and however it arrives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(TEXT, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 40 }),
      async (rows, size) => {
        const octets = Buffer.from(rows.map((row) => csvLine(row)).join(''), 'utf8')
        const read: (readonly string[])[] = []
        for await (const line of linesOf(inPieces(octets, size))) {
          const text = line.toString('utf8')
          assert.ok(text.endsWith('\r\n'))
          read.push((cellsOf(text.slice(0, -2)) ?? []).map(plainCell))
        }
        const wanted = rows.map((row) => row.map((cell) => cell.replaceAll('\0', '\uFFFD').toWellFormed()))
        assert.equal(read, wanted)
      },
    ),
    { numRuns: 500 },
  )
})

test('no cell begins as a formula', () => {
  fc.assert(
    fc.property(fc.array(TEXT, { minLength: 1 }), (row) => {
      for (const cell of cellsOf(csvLine(row).slice(0, -2)) ?? ['=']) assert.not.match(cell, /^[=+\-@\t\r\n]/)
    }),
    { numRuns: 1_000 },
  )
})

test('numbers stand as they are, and those below zero behind an apostrophe', () => {
  assert.is(csvLine([0, 12.5, 2 ** 53 - 1, -10, null, undefined, '']), "0,12.5,9007199254740991,'-10,,,\r\n")
})

test('what is no RFC 4180 is refused', async () => {
  for (const text of ['a"b\r\n', '"a"b\r\n', 'a\n', 'a\rb\r\n', '"a" ,b\r\n'])
    try {
      for await (const _ of linesOf(inPieces(Buffer.from(text))));
      assert.unreachable(text)
    } catch (error) {
      assert.match(String(error), /line 1 /, text)
    }
  for (const line of ['a"b', '"a"b', '"a', '"', 'a\r']) assert.is(cellsOf(line), undefined, line)
})

test('a row fills its columns, and the header names them', () => {
  assert.is(HEADER, `${COLUMN_NAMES.join(',')}\r\n`)
  const cells = cellsOf(rowLine({ kind: 'sim', detail: 'x' }).slice(0, -2))
  assert.equal([cells?.length, cells?.[0], cells?.at(-1)], [COLUMN_NAMES.length, 'sim', 'x'])
})

test.run()
