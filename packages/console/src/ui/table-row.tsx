import { Component, type ComponentChildren } from 'preact'
import { t } from '../text/index.ts'
import type { Column } from './data-table.tsx'

/** One row of a table, as it is drawn. */
export interface TableRowProps {
  readonly row: unknown
  readonly place: number
  /** For its box to tick. */
  readonly name: string
  readonly columns: readonly Column<never>[]
  /** Undefined where rows cannot be chosen. */
  readonly isSelected: boolean | undefined
  /** Whether Tab leads to it. */
  readonly isFirst: boolean
  readonly onToggle: (row: never) => void
  readonly onFocus: (place: number) => void
}

/** A row that is drawn anew only when something of it has changed: scrolling draws those that come into view alone. */
export class TableRow extends Component<TableRowProps> {
  override shouldComponentUpdate(next: TableRowProps): boolean {
    const now = this.props
    return (Object.keys(next) as (keyof TableRowProps)[]).some((name) => next[name] !== now[name])
  }

  override render({
    row,
    place,
    name,
    columns,
    isSelected,
    isFirst,
    onToggle,
    onFocus,
  }: TableRowProps): ComponentChildren {
    // The columns are those of its rows.
    const own = row as never
    return (
      <tr
        data-place={place}
        aria-rowindex={place + 2}
        aria-selected={isSelected}
        tabIndex={isFirst ? 0 : -1}
        onFocus={() => onFocus(place)}
      >
        {isSelected === undefined ? null : (
          <td class="tick">
            <input
              type="checkbox"
              aria-label={t('ui.selectRow', { name })}
              checked={isSelected}
              onChange={() => onToggle(own)}
            />
          </td>
        )}
        {columns.map((column) => (
          <td key={column.key} class={classOf(column)} data-title={column.title}>
            {column.cell(own)}
          </td>
        ))}
      </tr>
    )
  }
}

/** How a column looks, in the head and in the rows. */
export function classOf({
  isNumeric = false,
  isTight = false,
  isWide = false,
}: Pick<Column<never>, 'isNumeric' | 'isTight' | 'isWide'>): string {
  const names = [isNumeric ? 'number' : '', isTight ? 'tight' : '', isWide ? 'wide-only' : '']
  return names.filter((name) => name !== '').join(' ')
}
