import { validationFailed } from '@steeple/contracts'
import { type Cells, cellsFromJson, cellsOf, columnOf, headerProblem } from './columns.ts'
import { csvRecords } from './csv.ts'
import { type ImportBody, MAX_ROWS } from './import-schema.ts'

/** The rows of a body, one by one. Throws `validation_failed` for a header that cannot be used and for too many rows. */
export function* rowsOf(body: ImportBody): Generator<Cells> {
  let count = 0
  for (const cells of typeof body === 'string' ? csvRows(body) : jsonRows(body)) {
    count += 1
    if (count > MAX_ROWS) throw validationFailed(`an import has at most ${MAX_ROWS} rows; split the file`)
    yield cells
  }
}

function* jsonRows({ sims }: { readonly sims: readonly unknown[] }): Generator<Cells> {
  for (const row of sims) yield cellsFromJson(row)
}

function* csvRows(text: string): Generator<Cells> {
  const records = csvRecords(text)
  const header = records.next()
  if (header.done === true) throw validationFailed('the CSV is empty; its first line must be a header row')
  const columns = header.value.cells.map(columnOf)
  const problem = headerProblem(columns)
  if (problem !== undefined) throw validationFailed(problem)
  for (const { cells } of records) yield cellsOf(columns, cells)
}
