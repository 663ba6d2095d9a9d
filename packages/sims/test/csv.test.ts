import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type CsvRecord, csvLines, delimiterOf, readRecord } from '../src/import/csv.ts'
import { csvRows } from '../src/import/read-rows.ts'

const csv = suite('sims/csv')
const LINE_END = /\r\n|\n|\r/

const read = (text: string): readonly CsvRecord[] => {
  const bytes = Buffer.from(text)
  let delimiter: string | undefined
  const records: CsvRecord[] = []
  for (const place of csvLines(bytes)) {
    const line = bytes.toString('utf8', place?.from, place?.to)
    delimiter ??= delimiterOf(line)
    const record = readRecord(place?.line ?? 0, line, delimiter)
    if (record.cells.length > 1 || record.cells[0]?.trim() !== '' || record.problem !== undefined)
      records.push(record)
  }
  return records
}
const refusal = (text: string): string | undefined => {
  try {
    read(text)
    return undefined
  } catch (error) {
    assert.is((error as { code?: string }).code, 'validation_failed')
    return (error as Error).message
  }
}

csv('reads back what RFC 4180 says how to write', () => {
  const cell = fc.string({ maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ' '))
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
  const file = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    mark: fc.constantFrom('', '\uFEFF'),
    rows: fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 8 }),
    isEnded: fc.boolean(),
  })
  fc.assert(
    fc.property(file, ({ delimiter, end, mark, rows, isEnded }) => {
      const header = `a${delimiter}b${delimiter}c`
      const lines = [header, ...rows.map((row) => row.map(quoted).join(delimiter))]
      const records = read(mark + lines.join(end) + (isEnded ? end : ''))
      assert.equal(
        records.slice(1).map(({ cells }) => cells),
        rows,
      )
      assert.ok(records.every(({ problem }) => problem === undefined))
    }),
  )
})

csv('has a record for every line of any text that is not empty, or refuses the whole text', () => {
  const part = fc.constantFrom(
    'a',
    '"',
    '""',
    ',',
    ';',
    '\t',
    ' ',
    '\n',
    '\r\n',
    '\r',
    '\uFEFF',
    '12"',
    '","',
  )
  const text = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (any) => {
      const lines = any.replace(/^\uFEFF/, '').split(LINE_END)
      const message = refusal(any)
      if (message !== undefined) {
        const line = Number(/^line (\d+):/.exec(message)?.[1])
        assert.match(lines[line - 1] ?? '', /"/)
        return
      }
      const told = new Set(read(any).map(({ line }) => line))
      lines.forEach((line, i) => {
        if (line.replaceAll(/[\s"]/g, '') !== '') assert.ok(told.has(i + 1), JSON.stringify(line))
      })
    }),
    { numRuns: 500 },
  )
})

csv('loses no character of a line that it has no doubts about', () => {
  const part = fc.constantFrom('a', '"', '""', ',', ' ', 'b"', '"c')
  const text = fc.array(part, { minLength: 1, maxLength: 20 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (line) => {
      if (refusal(`x,y\n${line}`) !== undefined) return
      const record = read(`x,y\n${line}`)[1]
      if (record === undefined || record.problem !== undefined) return
      assert.is(record.cells.join('').replaceAll(/[" ,]/g, ''), line.replaceAll(/[" ,]/g, ''))
    }),
    { numRuns: 500 },
  )
})

csv('names the line and cell of a quote that is not closed there', () => {
  const unclosed = refusal('a,b\n1,2\n3,"12 inch\n4,5\n')
  assert.match(
    unclosed ?? '',
    /^line 3: the quote that opens in cell 2 is not closed in that line; close it, or/,
  )
  assert.match(refusal('a,b\n1,"12 inch\n3,13 inch"\n') ?? '', /^line 2: /)
  assert.match(refusal('a,"b\n1,2') ?? '', /^line 1: /)
})

csv('has doubts about quotes that are where none may be', () => {
  const problems = read('a,b\n1,12" disk\n1,"x" y\n1, "x" \n1,"""x"""\n').map(({ problem }) => problem)
  assert.match(problems[1] ?? '', /^cell 2 has a quote within a cell that is not quoted; write it as /)
  assert.match(problems[2] ?? '', /^cell 2 has text behind a closing quote; write it as /)
  assert.equal([problems[0], problems[3], problems[4]], [undefined, undefined, undefined])
})

csv('takes no text of another encoding, and names the first line of it', async () => {
  const lines = ['imsi,ki,opc,label', `999990000000001,${'0'.repeat(32)},${'0'.repeat(32)},Zürich`, '']
  const utf8 = Buffer.from(lines.join('\n'))
  const pause = async (): Promise<void> => undefined
  const rows = await csvRows(utf8, pause)
  const [place] = [...rows.places()]
  assert.is(place && rows.cells(place)?.get('label'), 'Zürich')
  for (const [bytes, message] of [
    [Buffer.from(lines.join('\n'), 'latin1'), /^line 2: the CSV is not UTF-8; save it as CSV in UTF-8/],
    [Buffer.from(`\uFEFF${lines.join('\n')}`, 'utf16le'), /^line 1: the CSV is not UTF-8; /],
  ] as const) {
    const refused = await csvRows(bytes, pause).catch((error: unknown) => error)
    assert.is((refused as { code?: string }).code, 'validation_failed')
    assert.match((refused as Error).message, message)
  }
})

csv.run()
