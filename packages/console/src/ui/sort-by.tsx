import { t } from '../text/index.ts'
import type { WholeColumn } from './data-table.tsx'
import { Select } from './field.tsx'

/** By which column rows are ordered, and whether backwards; undefined as they come. */
export type Sorting = { readonly key: string; readonly isDown: boolean } | undefined

/** What orders the cards of a phone, where no head of a table stands above them. */
export function SortBy<Row>({
  columns,
  sorting,
  onSort,
}: {
  readonly columns: readonly WholeColumn<Row>[]
  readonly sorting: Sorting
  readonly onSort: (sorting: Sorting) => void
}) {
  const ways = columns
    .map((column) => ({ key: sortKey(column), title: column.title }))
    .filter(({ key }) => key !== undefined)
    .flatMap(({ key, title }) => [
      { value: `up ${key}`, label: `${title} ↑` },
      { value: `down ${key}`, label: `${title} ↓` },
    ])
  if (ways.length === 0) return null
  return (
    <div class="narrow-only sort-by">
      <Select
        text="parts.sort"
        value={sorting === undefined ? '' : `${sorting.isDown ? 'down' : 'up'} ${sorting.key}`}
        onChange={(way) => onSort(sortingOf(way))}
        options={[{ value: '', label: t('parts.sort.none') }, ...ways]}
      />
    </div>
  )
}

/** By what a column is sorted; undefined where it is not. */
export function sortKey({
  key,
  compare,
  sort,
}: Pick<WholeColumn<never>, 'key' | 'compare' | 'sort'>): string | undefined {
  return sort ?? (compare === undefined ? undefined : key)
}

function sortingOf(way: string): Sorting {
  const [direction, key = ''] = way.split(' ')
  return key === '' ? undefined : { key, isDown: direction === 'down' }
}

/** Rows in that order; as they come without one. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly WholeColumn<Row>[],
  sorting: Sorting,
): readonly Row[] {
  const compare = columns.find(({ key }) => key === sorting?.key)?.compare
  if (compare === undefined || sorting === undefined) return rows
  return rows.toSorted((a, b) => (sorting.isDown ? compare(b, a) : compare(a, b)))
}
