import { Component, type ComponentChildren, type RefObject } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Rows } from '../api/use-rows.ts'
import { t, textIf } from '../text/index.ts'
import { Button } from './button.tsx'
import { Bytes } from './bytes.tsx'
import { toggled } from './field.tsx'
import { Icon } from './icon.tsx'
import { Loaded } from './notice.tsx'
import { SortBy, type Sorting, sorted as sort, sortKey } from './sort-by.tsx'
import { Time } from './time.tsx'

/** One row of a table, as it is drawn. */
interface TableRowProps {
  readonly row: unknown
  readonly place: number
  /** For its box to tick. */
  readonly name: string
  readonly columns: readonly WholeColumn<never>[]
  /** Undefined where rows cannot be chosen. */
  readonly isSelected: boolean | undefined
  /** Whether Tab leads to it. */
  readonly isFirst: boolean
  readonly onToggle: (row: never) => void
  readonly onFocus: (place: number) => void
}

/** A row that is drawn anew only when something of it has changed: scrolling draws those that come into view alone. */
class TableRow extends Component<TableRowProps> {
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
function classOf({
  as,
  isNumeric = as === 'bytes',
  isTight = false,
  isWide = false,
}: Pick<Column<never>, 'as' | 'isNumeric' | 'isTight' | 'isWide'>): string {
  const names = [isNumeric ? 'number' : '', isTight ? 'tight' : '', isWide ? 'wide-only' : '']
  return names.filter((name) => name !== '').join(' ')
}

/** Fewer rows than that are all drawn. */
const ALL_UP_TO = 150
/** Rows that are drawn beyond what can be seen, to either side. */
const MARGIN = 10
/** Until a row has been measured. */
const FIRST_GUESS = 40

/** Which rows are drawn: those from `first` up to before `last`, with the heights of what is left out, in px. */
interface Window {
  readonly first: number
  readonly last: number
  readonly above: number
  readonly below: number
  /** Scrolls so that a row can be seen. */
  readonly show: (place: number) => void
}

/** What of `count` rows of one height can be seen in a frame that scrolls. */
function useWindow(frame: RefObject<HTMLElement | null>, count: number): Window {
  const [height, setHeight] = useState(FIRST_GUESS)
  const [range, setRange] = useState<readonly [number, number]>([0, ALL_UP_TO])
  const isAll = count <= ALL_UP_TO
  useLayoutEffect(() => {
    const element = frame.current
    if (element === null || isAll) return undefined
    const measured = heightIn(element)
    setHeight(measured)
    const look = (): void => {
      const from = Math.max(0, Math.floor(element.scrollTop / measured) - MARGIN)
      const to = from + Math.ceil(element.clientHeight / measured) + 2 * MARGIN
      setRange((known) => (known[0] === from && known[1] === to ? known : [from, to]))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    const watch = new ResizeObserver(look)
    watch.observe(element)
    return () => {
      element.removeEventListener('scroll', look)
      watch.disconnect()
    }
  }, [frame, isAll, count])
  const [first, last] = isAll
    ? [0, count]
    : [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)]
  const show = (place: number): void => {
    const element = frame.current
    if (element === null || isAll) return
    const [top, bottom] = [place * height, (place + 2) * height]
    if (top < element.scrollTop) element.scrollTop = top
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight
  }
  return { first, last, above: first * height, below: (count - last) * height, show }
}

/** Height of a row as it is drawn; of all that are, since some have a line more. */
function heightIn(frame: HTMLElement): number {
  const rows = [...frame.querySelectorAll<HTMLElement>('tbody tr[data-place]')]
  if (rows.length === 0) return FIRST_GUESS
  return rows.reduce((sum, { offsetHeight }) => sum + offsetHeight, 0) / rows.length
}

export interface Column<Row> {
  /** The key of the text that is its title. */
  readonly text?: string
  readonly title?: string
  /** By which it is told from the others, where not by its text. */
  readonly key?: string
  /** The property of a row that it shows. */
  readonly of?: keyof Row & string
  /** How that is drawn, where not as it is; one that is missing is a dash, or the text that `none` is the key of. */
  readonly as?: 'moment' | 'ago' | 'day' | 'bytes'
  readonly none?: string
  /** What it shows instead. */
  readonly cell?: (row: Row) => ComponentChildren
  /** Right-aligned, with figures of one width. */
  readonly isNumeric?: boolean
  /** Stays in one line. */
  readonly isTight?: boolean
  /** Left out where the screen is narrow. */
  readonly isWide?: boolean
  /** Can be sorted by that property. */
  readonly isSortable?: boolean
  /** The same by something else. */
  readonly compare?: (a: Row, b: Row) => number
  /** By which name the service sorts it, where it does. */
  readonly sort?: string
  /** The most, or the latest, comes first when it is chosen. */
  readonly isDownFirst?: boolean
}

/** A column with all that is said of it by its text and its property. */
export type WholeColumn<Row> = Column<Row> & Required<Pick<Column<Row>, 'key' | 'title' | 'cell'>>

export function wholeColumn<Row>(column: Column<Row>): WholeColumn<Row> {
  const { text = '', of, as, none, isSortable } = column
  const valueIn = (row: Row): unknown => (of === undefined ? undefined : row[of])
  const drawn = (row: Row): ComponentChildren => {
    const value = valueIn(row)
    if (value === null || value === undefined) return none === undefined ? '–' : (textIf(none) ?? none)
    if (as === 'bytes') return <Bytes value={Number(value)} />
    if (as === undefined) return String(value)
    return <Time at={String(value)} relative={as === 'ago'} dateOnly={as === 'day'} />
  }
  const byValue = (a: Row, b: Row): number => String(valueIn(a)).localeCompare(String(valueIn(b)))
  return {
    ...(isSortable === true ? { compare: byValue } : {}),
    ...column,
    ...{ key: column.key ?? text, title: column.title ?? textIf(text) ?? text, cell: column.cell ?? drawn },
  }
}

/** A table of rows to compare. */
export interface DataTableProps<Row> {
  /** What the rows are, for readers of the table. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  /** What is opened by Enter on a row; its first cell should hold a link there too. */
  readonly onOpen?: (row: Row) => void
  /** Keys of the chosen rows. With it each row has a box to tick. */
  readonly selected?: ReadonlySet<string>
  readonly onSelect?: (selected: ReadonlySet<string>) => void
  /** What a row is called, for its box to tick. */
  readonly nameOf?: (row: Row) => string
  /** Is called when the last rows come into view: reads the next page, for instance. */
  readonly onEnd?: () => void
  /** What stands here without rows. */
  readonly empty?: ComponentChildren
  /** How many rows there are, in words; absent: those that are here. */
  readonly count?: string
  /** The row to begin with, and who hears which rows are looked at, by hundreds; both stay the same until it was called. */
  readonly startAt?: number
  readonly onPlace?: (row: number) => void
  /** Below the rows: a button for the next page, for instance. */
  readonly footer?: ComponentChildren
  /** How the rows are ordered as they come, and what is told of another wish; without it the table orders them. */
  readonly sorting?: Sorting
  readonly onSort?: (sorting: Sorting) => void
}

/** Rows before the last one from where on the next page is read. */
const NEAR_END = 60

/** A table that draws what can be seen of 10,000 rows; arrow keys move along the rows, Enter opens one, space selects it. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, keyOf, selected, onSelect } = props
  const columns = useMemo(() => props.columns.map(wholeColumn), [props.columns])
  const [own, setOwn] = useState<Sorting>(undefined)
  const [sorting, onSort] = props.onSort === undefined ? [own, setOwn] : [props.sorting, props.onSort]
  const sorted = useMemo(
    () => (props.onSort === undefined ? sort(rows, columns, own) : rows),
    [rows, columns, own, props.onSort === undefined],
  )
  const frame = useRef<HTMLDivElement>(null)
  const { first, last, above, below, show } = useWindow(frame, sorted.length)
  const [active, setActive] = useState(0)
  const isAtEnd = sorted.length > 0 && last > sorted.length - NEAR_END
  useEffect(() => {
    if (isAtEnd) props.onEnd?.()
  }, [isAtEnd, sorted.length, props.onEnd])
  // Another order begins with its first row.
  useEffect(() => {
    setActive(0)
    frame.current?.scrollTo({ top: 0 })
  }, [sorting?.key, sorting?.isDown])
  const { startAt = 0, onPlace } = props
  const isStart = startAt > 0 && sorted.length > startAt
  const hundred = Math.floor((first + MARGIN) / 100)
  useEffect(() => {
    if (isStart) show(startAt)
    onPlace?.(isStart ? startAt : hundred * 100)
  }, [isStart, hundred])
  const toggle = (key: string): void => {
    if (selected !== undefined) onSelect?.(toggled(selected, key))
  }
  // The same one for all rows and all times, so that no row is drawn anew for it.
  const latest = useRef(toggle)
  latest.current = toggle
  const onToggle = useCallback((row: Row) => latest.current(keyOf(row)), [keyOf])
  if (rows.length === 0) return <>{props.empty ?? <p class="empty">{t('ui.noRows')}</p>}</>
  const move = (to: number): void => {
    const place = Math.max(0, Math.min(sorted.length - 1, to))
    setActive(place)
    show(place)
    requestAnimationFrame(() =>
      frame.current?.querySelector<HTMLElement>(`tr[data-place="${place}"]`)?.focus(),
    )
  }
  const onKey = (event: KeyboardEvent): void => {
    const row = event.target instanceof HTMLTableRowElement ? sorted[active] : undefined
    if (row === undefined) return
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      Home: 0,
      End: sorted.length - 1,
      PageDown: active + 10,
      PageUp: active - 10,
    }[event.key]
    if (to !== undefined) move(to)
    else if (event.key === 'Enter' && props.onOpen !== undefined) props.onOpen(row)
    else if (event.key === ' ' && selected !== undefined) toggle(keyOf(row))
    else return
    event.preventDefault()
  }
  const width = columns.length + (selected === undefined ? 0 : 1)
  return (
    <>
      {rows.length < 2 ? null : <SortBy columns={columns} sorting={sorting} onSort={onSort} />}
      <div class={`table-frame ${sorted.length > ALL_UP_TO ? 'is-long' : ''}`} ref={frame}>
        <table class="rows" aria-label={label} aria-rowcount={sorted.length + 1} onKeyDown={onKey}>
          <Head {...props} columns={columns} sorting={sorting} onSort={onSort} />
          <tbody>
            <Spacer height={above} width={width} />
            {sorted.slice(first, last).map((row, index) => {
              const [place, key] = [first + index, keyOf(row)]
              return (
                <TableRow
                  key={key}
                  row={row}
                  place={place}
                  name={props.nameOf?.(row) ?? key}
                  columns={columns}
                  isSelected={selected?.has(key)}
                  isFirst={place === Math.min(Math.max(active, first), last - 1)}
                  onToggle={onToggle}
                  onFocus={setActive}
                />
              )
            })}
            <Spacer height={below} width={width} />
          </tbody>
        </table>
      </div>
      <div class="table-foot">
        <span class="fine">{props.count ?? t('ui.rows', { count: rows.length })}</span>
        {props.footer}
      </div>
    </>
  )
}

function Head<Row>({
  columns,
  rows,
  keyOf,
  selected,
  onSelect,
  sorting,
  onSort,
}: Omit<DataTableProps<Row>, 'columns' | 'sorting' | 'onSort'> & {
  readonly columns: readonly WholeColumn<Row>[]
  readonly sorting: Sorting
  readonly onSort: (sorting: Sorting) => void
}) {
  const isAll = selected !== undefined && rows.length > 0 && rows.every((row) => selected.has(keyOf(row)))
  return (
    <thead>
      <tr>
        {selected === undefined ? null : (
          <th scope="col" class="tick" data-title={t('ui.selectAll')}>
            <input
              type="checkbox"
              aria-label={t('ui.selectAll')}
              checked={isAll}
              onChange={() => onSelect?.(new Set(isAll ? [] : rows.map(keyOf)))}
            />
          </th>
        )}
        {columns.map((column) => {
          const key = sortKey(column)
          const isBy = key !== undefined && sorting?.key === key
          const order = !isBy ? undefined : sorting.isDown ? 'descending' : 'ascending'
          return (
            <th key={column.key} scope="col" class={classOf(column)} aria-sort={order}>
              {key === undefined ? (
                column.title
              ) : (
                <>
                  <span class="narrow-only">{column.title}</span>
                  <button
                    type="button"
                    class="wide-only"
                    title={t('ui.sortBy', { column: column.title })}
                    onClick={() =>
                      onSort({ key, isDown: isBy ? !sorting.isDown : column.isDownFirst === true })
                    }
                  >
                    {column.title}
                    {isBy ? <Icon name={sorting.isDown ? 'arrow-down' : 'arrow-up'} /> : null}
                  </button>
                </>
              )}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

function Spacer({ height, width }: { readonly height: number; readonly width: number }) {
  if (height === 0) return null
  return (
    <tr class="spacer">
      <td colSpan={width} height={height} />
    </tr>
  )
}

/** A list that comes in pages, as a table with a way to its further rows. */
export function PagedTable<Row>({
  query,
  ...table
}: Omit<DataTableProps<Row>, 'rows' | 'footer'> & {
  readonly query: Pick<Rows<Row>, 'data' | 'error' | 'isLoading' | 'isMore' | 'more' | 'reload'>
}) {
  const footer = query.isMore ? <Button onClick={query.more}>{t('ui.more')}</Button> : null
  return (
    <Loaded<readonly Row[]> query={query}>
      {(rows) => <DataTable {...table} rows={rows} footer={footer} />}
    </Loaded>
  )
}
