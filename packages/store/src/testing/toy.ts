import { defineTable, type Migration, type Table } from '@steeple/contracts'

/** A row of the tests' own plugin `toy`. */
export interface ToyRow {
  readonly id: string
  readonly n: number
  readonly label: string | null
}

export const TOY_MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_item',
    up: [
      'create table toy_item (id text not null primary key, n bigint not null, label text, row_sum bigint not null)',
    ],
  },
]
export const TOY: Table<ToyRow> = defineTable<ToyRow>('toy_item', ['id', 'n', 'label'], ['id'])

export function toy(id: string, n = 0, label: string | null = null): ToyRow {
  return { id, n, label }
}
