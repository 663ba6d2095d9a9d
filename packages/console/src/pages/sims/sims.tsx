import type { Problem, RequestOf } from '@steeple/client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { saveFile } from '../../api/download.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { type Rows, useRows } from '../../api/use-rows.ts'
import { filter, navigate, query, setFilters } from '../../app/router.ts'
import { choices, t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { type Column, DataTable, type DataTableProps } from '../../ui/data-table.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { EmptyState, Progress } from '../../ui/parts.tsx'
import type { Sorting } from '../../ui/sort-by.tsx'
import { BulkBar, type Choice, NO_CHOICE } from './bulk-bar.tsx'
import { HandoutButton } from './handout.tsx'
import { IssueDialog } from './issue.tsx'
import { tellingTwinsApart, useColumns } from './list-columns.tsx'
import { nameOf, pageOf, type Sim, STATES } from './sim.tsx'

/** What the list can be asked for; all but the search of whole identifiers stands in the address. */
interface SimFilter {
  readonly q?: string
  readonly state?: (typeof STATES)[number]
  readonly attached?: boolean
  readonly label?: string
  readonly profile?: string
  readonly batch_id?: string
  readonly expires_after?: string
  readonly expires_before?: string
}

/** Filters that links lead to; shown as words that can be taken away. */
const LINKED = ['label', 'profile', 'batch_id'] as const
type SimSort = NonNullable<NonNullable<RequestOf<'GET', '/v1/sims'>['query']>['sort']>
const SORTS: readonly SimSort[] = (['label', 'state', 'last_seen', 'used', 'expires_at'] as const).flatMap(
  (sort) => [sort, `-${sort}`] as const,
)
/** What has that many digits is an IMSI, an ICCID or a whole number: it goes into no address. */
const WHOLE_DIGITS = /^\+?[\d\s-]{14,30}$/
const TYPING_MS = 250

/** In which month SIMs expire. */
const MONTHS: readonly string[] = ['this-month', 'next-month']

/** When that month begins here; 0 is this one. */
function monthFrom(months: number): string {
  const now = new Date()
  return new Date(now.getFullYear(), now.getMonth() + months).toISOString()
}

/** The filter that the address holds. */
function filterHere(): SimFilter {
  const [q, state, attached] = [filter('q'), filter('state'), filter('attached')]
  const known = STATES.find((one) => one === state)
  const months = MONTHS.indexOf(filter('expires'))
  return {
    ...(q === '' ? {} : { q }),
    ...(known === undefined ? {} : { state: known }),
    ...(months < 0 ? {} : { expires_after: monthFrom(months), expires_before: monthFrom(months + 1) }),
    ...(attached === '' ? {} : { attached: attached === 'true' }),
    ...Object.fromEntries(LINKED.map((name) => [name, filter(name)]).filter(([, value]) => value !== '')),
  }
}

/** Another list, from its beginning. */
function narrow(filters: Readonly<Record<string, string | undefined>>): void {
  setFilters({ ...filters, page: undefined }, { isStep: true })
}

/** What stands behind one button on a phone. */
const NARROWING = ['state', 'attached', 'expires'] as const

/** What is searched for, and by what the list is narrowed. `onWhole` gets what must not stand in an address. */
function Filters({ onWhole }: { readonly onWhole: (digits: string | undefined) => void }) {
  const [isOpen, setOpen] = useState(NARROWING.some((name) => filter(name) !== ''))
  return (
    <search class="toolbar filters">
      <SearchField onWhole={onWhole} />
      <div class="narrow-only">
        <button type="button" class="button plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {t('sims.filters')}
        </button>
      </div>
      <div class={isOpen ? 'more' : 'more is-folded'}>
        <Select
          text="sims.filter.state"
          value={filter('state')}
          onChange={(state) => narrow({ state })}
          options={choices('sims.state', STATES, t('sims.filter.all'))}
        />
        <Select
          text="sims.filter.attached"
          value={filter('attached')}
          onChange={(attached) => narrow({ attached })}
          options={[
            { value: '', label: t('sims.filter.all') },
            { value: 'true', label: t('sims.attached.yes') },
            { value: 'false', label: t('sims.attached.no') },
          ]}
        />
        <Select
          text="sims.filter.expires"
          value={filter('expires')}
          onChange={(expires) => narrow({ expires })}
          options={[
            { value: '', label: t('sims.filter.all') },
            { value: 'this-month', label: t('sims.filter.thisMonth') },
            { value: 'next-month', label: t('sims.filter.nextMonth') },
          ]}
        />
      </div>
      {LINKED.filter((name) => filter(name) !== '').map((name) => (
        <Button icon="x" key={name} onClick={() => narrow({ [name]: undefined })}>
          {t('sims.filter.remove', { what: t(`sims.filter.${name}`), value: filter(name) })}
        </Button>
      ))}
    </search>
  )
}

function SearchField({ onWhole }: { readonly onWhole: (digits: string | undefined) => void }) {
  const [text, setText] = useState(filter('q'))
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const inAddress = filter('q')
  // Another page of the history, or a link; not what is being typed.
  useEffect(() => {
    if (inAddress !== '' || text === '') setText(inAddress)
  }, [inAddress])
  const take = (given: string): void => {
    setText(given)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      const isWhole = WHOLE_DIGITS.test(given.trim())
      onWhole(isWhole ? given.replaceAll(/\D/g, '') : undefined)
      setFilters({ q: isWhole ? undefined : given.trim(), page: undefined })
    }, TYPING_MS)
  }
  return <Field type="search" text="sims.search" value={text} maxLength={64} onInput={take} />
}

/** What a whole IMSI, ICCID or number has led to. */
interface Found {
  readonly rows: readonly Sim[]
  readonly error: Problem | undefined
  readonly isLoading: boolean
}

/** From that many digits on it is an ICCID: ITU-T E.118. IMSIs and numbers have at most 15. */
const ICCID_DIGITS = 18

/** Finds by what must stand in no address and no log: it goes in the body of a request. Undefined digits find nothing. */
function useWhole(digits: string | undefined): Found | undefined {
  const [found, setFound] = useState<Found>()
  useEffect(() => {
    if (digits === undefined) return setFound(undefined)
    let isOver = false
    setFound({ rows: [], error: undefined, isLoading: true })
    void find(digits).then((result) => {
      if (!isOver) setFound(result)
    })
    return () => {
      isOver = true
    }
  }, [digits])
  return found
}

async function find(digits: string): Promise<Found> {
  const bodies = digits.length >= ICCID_DIGITS ? [{ iccid: digits }] : [{ imsi: digits }, { msisdn: digits }]
  let error: Problem | undefined
  for (const body of bodies) {
    const answer = await api.post('/v1/sims/find', { body })
    if (answer.ok && answer.data.sims.length > 0)
      return { rows: answer.data.sims, error: undefined, isLoading: false }
    if (!answer.ok) error ??= answer.error
  }
  return { rows: [], error, isLoading: false }
}

const keyOf = (sim: Sim): string => sim.imsi_sha256_12
/** One change of a SIM tells of itself; what changes many is read anew as a whole. */
const ON = ['sim.*', 'session.*']
const ON_ALL = ['sim.bulk', 'sim.import', 'session.many']

/** The order that the address holds, by label without one: `-used` is by what was used, the most first. */
function sortHere(): SimSort {
  return SORTS.find((one) => one === filter('sort')) ?? 'label'
}

function sortingOf(sort: string | undefined): Sorting {
  if (sort === undefined) return undefined
  const isDown = sort.startsWith('-')
  return { key: isDown ? sort.slice(1) : sort, isDown }
}

function sortBy(sorting: Sorting): void {
  narrow({ sort: sorting === undefined ? undefined : `${sorting.isDown ? '-' : ''}${sorting.key}` })
}

/** SIMs of a page of the address, and the most that a link can lead to. */
const PAGE = 200
const PAGES = 50

/** Where in the list the reader is: in the address, so that a link and the button Back lead there again. */
function usePlace(all: Rows<Sim>['all']): Pick<DataTableProps<Sim>, 'startAt' | 'onPlace'> {
  const start = useRef(Math.min(Number(filter('page')) || 1, PAGES))
  useEffect(() => {
    if (start.current > 1) void all(start.current * PAGE)
  }, [])
  const onPlace = (row: number): void => {
    // Until what was asked for has come.
    if (start.current > 1 && row === 0) return
    start.current = 1
    const page = row < PAGE ? '' : String(Math.floor(row / PAGE) + 1)
    if (page !== filter('page')) setFilters({ page })
  }
  return { startAt: (start.current - 1) * PAGE, onPlace }
}

function selectedOf({ selected, isAll }: Choice, rows: readonly Sim[]): ReadonlySet<string> {
  return isAll ? new Set(rows.map(keyOf)) : selected
}

/** All SIMs: found, narrowed, and changed one by one or together. */
export function Page() {
  const given = JSON.stringify(filterHere())
  const filter = useMemo(filterHere, [given])
  const sort = sortHere()
  const [digits, setDigits] = useState<string>()
  const whole = useWhole(digits)
  // What was typed goes with the filters.
  const [round, setRound] = useState(0)
  const clear = (): void => {
    setDigits(undefined)
    setRound(round + 1)
    navigate('/sims')
  }
  const { shown: columns, chooser, on } = useColumns()
  const sims = useRows(
    whole === undefined ? '/v1/sims' : undefined,
    { ...filter, sort },
    {
      keyOf,
      on: [...ON, ...on],
      onAll: ON_ALL,
      one: (imsi) => api.get('/v1/sims/{imsi}', { path: { imsi } }),
    },
  )
  const linked = LINKED.map((name) => filter[name] ?? '').join()
  // A link to some SIMs shows these, whatever was searched for before.
  useEffect(() => {
    if (linked.replaceAll(',', '') === '') return
    setDigits(undefined)
    setRound((now) => now + 1)
  }, [linked])
  const [choice, setChoice] = useState<Choice>(NO_CHOICE)
  // Another filter means others.
  useEffect(() => setChoice(NO_CHOICE), [given, digits])
  const [isIssuing, setIssuing] = useState(false)
  const isAsked = query.value.get('do') === 'issue'
  useEffect(() => {
    if (isAsked) setIssuing(true)
  }, [isAsked])
  const place = usePlace(sims.all)
  const byFilter = whole === undefined ? filter : undefined
  const isFiltered = byFilter === undefined || Object.keys(filter).length > 0
  // Another order alone leaves the table where it is, and the focus on the head that was pressed.
  const before = useRef({ given, rows: sims.rows })
  if (!sims.isLoading) before.current = { given, rows: sims.rows }
  const isReordered = sims.isLoading && before.current.given === given && before.current.rows.length > 0
  const shown = whole ?? (isReordered ? { ...sims, rows: before.current.rows, isLoading: false } : sims)
  return (
    <>
      <h1>{t('sims.title')}</h1>
      <Filters key={round} onWhole={setDigits} />
      <div class="toolbar">
        {may('sim:issuer') ? (
          <>
            <Button icon="plus" kind="primary" onClick={() => setIssuing(true)}>
              {t('sims.issue')}
            </Button>
            <ButtonLink href="/sims/import">{t('import.title')}</ButtonLink>
            <ButtonLink href="/sims/foreign">{t('foreign.title')}</ButtonLink>
            <ExportButton filter={filter} />
            {filter.batch_id === undefined ? null : <HandoutButton of={{ batch_id: filter.batch_id }} />}
          </>
        ) : null}
        {chooser}
      </div>
      <ErrorNotice error={shown.error} onRetry={sims.reload} />
      <BulkBar
        rows={shown.rows}
        total={sims.total}
        filter={byFilter}
        isMore={sims.isMore && byFilter !== undefined}
        choice={choice}
        onChoose={setChoice}
      />
      {shown.isLoading ? (
        <Progress label={t('app.loading')} />
      ) : (
        <SimTable
          key={given}
          sims={sims}
          rows={shown.rows}
          columns={columns}
          place={place}
          selected={selectedOf(choice, shown.rows)}
          onSelect={(selected) => setChoice({ selected, isAll: false })}
          isFiltered={isFiltered}
          isWhole={byFilter === undefined}
          onIssue={() => setIssuing(true)}
          onClear={clear}
        />
      )}
      <IssueDialog
        isOpen={isIssuing}
        onClose={() => {
          setIssuing(false)
          setFilters({ do: undefined })
        }}
      />
    </>
  )
}

function SimTable({
  sims,
  rows,
  columns,
  place,
  selected,
  onSelect,
  isFiltered,
  isWhole,
  onIssue,
  onClear,
}: {
  readonly sims: Rows<Sim>
  readonly rows: readonly Sim[]
  readonly columns: readonly Column<Sim>[]
  readonly place: Pick<DataTableProps<Sim>, 'startAt' | 'onPlace'>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
  readonly isFiltered: boolean
  readonly isWhole: boolean
  readonly onIssue: () => void
  readonly onClear: () => void
}) {
  const isMore = sims.isMore && !isWhole
  const count = isMore ? sims.total : rows.length
  // Who may change nothing has nothing to choose for.
  const choice = may('operator') || may('sim:issuer') || may('sim:admin') ? { selected, onSelect } : {}
  return (
    <DataTable
      label={t('sims.title')}
      rows={rows}
      columns={useMemo(() => tellingTwinsApart(columns, rows), [columns, rows])}
      sorting={sortingOf(sortHere())}
      onSort={sortBy}
      {...place}
      {...(count === undefined ? {} : { count: t('sims.count', { count }) })}
      keyOf={keyOf}
      nameOf={nameOf}
      onOpen={(sim) => navigate(pageOf(sim.imsi_sha256_12))}
      {...choice}
      {...(isMore ? { onEnd: sims.more } : {})}
      empty={<NoSims isFiltered={isFiltered} onIssue={onIssue} onClear={onClear} />}
      footer={isMore ? <Button onClick={sims.more}>{t('ui.more')}</Button> : undefined}
    />
  )
}

function NoSims({
  isFiltered,
  onIssue,
  onClear,
}: {
  readonly isFiltered: boolean
  readonly onIssue: () => void
  readonly onClear: () => void
}) {
  if (isFiltered)
    return (
      <EmptyState
        title={t('sims.none.found')}
        action={<Button onClick={onClear}>{t('sims.filter.clear')}</Button>}
      >
        {t('sims.none.found.help')}
      </EmptyState>
    )
  if (!may('sim:issuer')) return <EmptyState title={t('sims.none')}>{t('sims.none.viewer')}</EmptyState>
  return (
    <EmptyState
      title={t('sims.none')}
      action={
        <Button icon="plus" kind="primary" onClick={onIssue}>
          {t('sims.issue')}
        </Button>
      }
    >
      {t('sims.none.help')}
    </EmptyState>
  )
}

/** Saves what the list shows, and what is behind it, as a CSV without secrets. */
function ExportButton({ filter }: { readonly filter: SimFilter }) {
  const take = useAction(() => api.get('/v1/sims/export', { query: filter }))
  const save = async (): Promise<void> => {
    const answer = await take.run()
    if (answer?.ok === true) saveFile('sims.csv', answer.data, 'text/csv')
  }
  return (
    <>
      <Button icon="download" onClick={() => void save()} isBusy={take.isBusy}>
        {t('sims.export')}
      </Button>
      <ErrorNotice error={take.error} />
    </>
  )
}
