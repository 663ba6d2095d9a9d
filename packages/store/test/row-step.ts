import { defineTable, type Migration, rowStep, type Table } from '@steeple/contracts'
import { TOY, TOY_MIGRATIONS, type ToyRow } from '../src/testing.ts'

/** A row of the toy plugin's next version. */
export interface ColouredRow extends ToyRow {
  readonly colour: string | null
}

const COLUMNS = ['id', 'n', 'label', 'colour'] as const

/** The next version's table; each copy of a version has one of its own. */
export function coloured(): Table<ColouredRow> {
  return defineTable<ColouredRow>('toy_item', COLUMNS, TOY.key)
}

/** As the child has it. */
export const COLOURED: Table<ColouredRow> = coloured()

/** The next version's migrations: a column more, and a colour for every row that has none. */
export function migrations(
  onBatch: (firstId: string) => void = () => undefined,
  table: Table<ColouredRow> = COLOURED,
): readonly Migration[] {
  const rows = rowStep(table, 'colour is null', async (tx, found) => {
    onBatch(found[0]?.id ?? '')
    for (const row of found) await table.put(tx, { ...row, colour: `c${row.n}` })
  })
  const up = ['alter table toy_item add column colour text']
  return [...TOY_MIGRATIONS, { id: '0002_colour', up, rows }]
}
