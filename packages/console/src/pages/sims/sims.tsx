import type { AnswerOf, Problem, RequestOf } from '@steeple/client'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction } from '../../api/use-query.ts'
import { type Rows, useRows } from '../../api/use-rows.ts'
import { Panels, usePanels } from '../../app/plugin-pages.tsx'
import { filter, navigate, query, setFilters } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Time } from '../../ui/time.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { EMPTY_ORDER, type Order, OrderFields, orderBody } from './order.tsx'
import { Attached, nameOf, pageOf, type Sim, SimState, STATES } from './sim.tsx'

/** What the list can be asked for; all but the search of whole identifiers stands in the address. */
interface SimFilter {
  readonly q?: string
  readonly state?: (typeof STATES)[number]
  readonly attached?: boolean
  readonly label?: string
  readonly profile?: string
  readonly batch_id?: string
}

/** Filters that links lead to; shown as words that can be taken away. */
const LINKED = ['label', 'profile', 'batch_id'] as const
/** What has that many digits is an IMSI, an ICCID or a whole number: it goes into no address. */
const WHOLE_DIGITS = /^\+?[\d\s-]{14,30}$/
const TYPING_MS = 250

/** The filter that the address holds. */
function filterHere(): SimFilter {
  const [q, state, attached] = [filter('q'), filter('state'), filter('attached')]
  const known = STATES.find((one) => one === state)
  return {
    ...(q === '' ? {} : { q }),
    ...(known === undefined ? {} : { state: known }),
    ...(attached === '' ? {} : { attached: attached === 'true' }),
    ...Object.fromEntries(LINKED.map((name) => [name, filter(name)]).filter(([, value]) => value !== '')),
  }
}

/** What is searched for, and by what the list is narrowed. `onWhole` gets what must not stand in an address. */
function Filters({ onWhole }: { readonly onWhole: (digits: string | undefined) => void }) {
  return (
    <search class="toolbar filters">
      <SearchField onWhole={onWhole} />
      <Select
        label={t('sims.filter.state')}
        value={filter('state')}
        onChange={(state) => setFilters({ state })}
        options={[
          { value: '', label: t('sims.filter.all') },
          ...STATES.map((value) => ({ value, label: word('sims.state', value) })),
        ]}
      />
      <Select
        label={t('sims.filter.attached')}
        value={filter('attached')}
        onChange={(attached) => setFilters({ attached })}
        options={[
          { value: '', label: t('sims.filter.all') },
          { value: 'true', label: t('sims.attached.yes') },
          { value: 'false', label: t('sims.attached.no') },
        ]}
      />
      {LINKED.filter((name) => filter(name) !== '').map((name) => (
        <Button key={name} onClick={() => setFilters({ [name]: undefined })}>
          {t('sims.filter.remove', { what: t(`sims.filter.${name}`), value: filter(name) })}
          <span aria-hidden="true"> ×</span>
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
      setFilters({ q: isWhole ? undefined : given.trim() })
    }, TYPING_MS)
  }
  return (
    <Field
      type="search"
      label={t('sims.search')}
      help={t('sims.search.help')}
      value={text}
      maxLength={64}
      onInput={take}
    />
  )
}

const NAME: Column<Sim> = {
  key: 'name',
  title: '',
  cell: (sim) => <a href={pageOf(sim.imsi_sha256_12)}>{nameOf(sim)}</a>,
}

/** What a plugin adds to the list: columns, and the events after which what they show is another. */
interface SimColumns {
  readonly columns: () => readonly Column<Sim>[]
  readonly on: readonly string[]
}

/** The columns of the list, and those of plugins. */
function columns(more: readonly SimColumns[]): readonly Column<Sim>[] {
  return [
    { ...NAME, title: t('sims.name') },
    { key: 'state', title: t('sims.filter.state'), isTight: true, cell: (sim) => <SimState sim={sim} /> },
    {
      key: 'attached',
      title: t('sims.filter.attached'),
      isTight: true,
      cell: (sim) => <Attached attached={sim.attached} />,
    },
    {
      key: 'seen',
      title: t('sims.lastSeen'),
      isWide: true,
      cell: ({ last_seen_at: at }) => (at === null ? t('sims.never') : <Time at={at} relative />),
    },
    ...more.flatMap((one) => one.columns()),
    {
      key: 'iccid',
      title: t('sims.iccid'),
      isWide: true,
      isTight: true,
      cell: ({ iccid_last4: end }) => (end === null ? '' : `…${end}`),
    },
    {
      key: 'hash',
      title: t('sims.hash'),
      isWide: true,
      isTight: true,
      cell: (sim) => <code>{sim.imsi_sha256_12}</code>,
    },
    {
      key: 'expires',
      title: t('sims.expires'),
      isWide: true,
      isTight: true,
      cell: (sim) => <Time at={sim.expires_at} dateOnly />,
    },
  ]
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
  const [found, setFound] = useState<Found | undefined>(undefined)
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

/** All SIMs: found, narrowed, and changed one by one or together. */
export function Page() {
  const filter = useMemo(filterHere, [query.value])
  const [digits, setDigits] = useState<string | undefined>(undefined)
  const whole = useWhole(digits)
  // What was typed goes with the filters.
  const [round, setRound] = useState(0)
  const clear = (): void => {
    setDigits(undefined)
    setRound(round + 1)
    navigate('/sims')
  }
  const more = usePanels<SimColumns>('sims.columns')
  const sims = useRows(whole === undefined ? '/v1/sims' : undefined, filter, {
    keyOf,
    on: [...ON, ...more.flatMap(({ on }) => on)],
    onAll: ON_ALL,
    one: readSim,
  })
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isIssuing, setIssuing] = useState(query.value.get('do') === 'issue')
  const isFiltered = Object.keys(filter).length > 0 || whole !== undefined
  const shown = whole ?? sims
  return (
    <>
      <h1>{t('sims.title')}</h1>
      <Filters key={round} onWhole={setDigits} />
      <div class="toolbar">
        {may('sim:issuer') ? (
          <>
            <Button kind="primary" onClick={() => setIssuing(true)}>
              {t('sims.issue')}
            </Button>
            <ButtonLink href="/sims/import">{t('import.title')}</ButtonLink>
            <ExportButton filter={filter} />
          </>
        ) : null}
      </div>
      {shown.error === undefined ? null : <ErrorNotice error={shown.error} onRetry={sims.reload} />}
      <BulkBar
        rows={shown.rows}
        isMore={sims.isMore && whole === undefined}
        loadAll={sims.all}
        selected={selected}
        onSelect={setSelected}
      />
      {shown.isLoading ? (
        <Progress label={t('app.loading')} />
      ) : (
        <SimTable
          sims={sims}
          rows={shown.rows}
          selected={selected}
          onSelect={setSelected}
          isFiltered={isFiltered}
          isWhole={whole !== undefined}
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
  selected,
  onSelect,
  isFiltered,
  isWhole,
  onIssue,
  onClear,
}: {
  readonly sims: Rows<Sim>
  readonly rows: readonly Sim[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
  readonly isFiltered: boolean
  readonly isWhole: boolean
  readonly onIssue: () => void
  readonly onClear: () => void
}) {
  const isMore = sims.isMore && !isWhole
  const more = usePanels<SimColumns>('sims.columns')
  const shown = useMemo(() => columns(more), [more])
  // Who may change nothing has nothing to choose for.
  const choice = may('operator') || may('sim:issuer') || may('sim:admin') ? { selected, onSelect } : {}
  return (
    <DataTable
      label={t('sims.title')}
      rows={rows}
      columns={shown}
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
        <Button kind="primary" onClick={onIssue}>
          {t('sims.issue')}
        </Button>
      }
    >
      {t('sims.none.help')}
    </EmptyState>
  )
}

/** One SIM as it stands; undefined when it is gone. */
async function readSim(imsi: string): Promise<Sim | undefined> {
  const answer = await api.get('/v1/sims/{imsi}', { path: { imsi } })
  return answer.ok ? answer.data : undefined
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
      <Button onClick={() => void save()} isBusy={take.isBusy}>
        {t('sims.export')}
      </Button>
      {take.error === undefined ? null : <ErrorNotice error={take.error} />}
    </>
  )
}

type Issued = AnswerOf<'POST', '/v1/sims'>

/** Issues cards: how many, for whom, with what; and says how they get onto cards. */
function IssueDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [order, setOrder] = useState<Order>(EMPTY_ORDER)
  const [issued, setIssued] = useState<Issued | undefined>(undefined)
  const issue = useAction((body: NonNullable<RequestOf<'POST', '/v1/sims'>['body']>) =>
    api.post('/v1/sims', { body }),
  )
  const close = (): void => {
    setIssued(undefined)
    issue.clear()
    onClose()
  }
  const go = async (): Promise<void> => {
    const answer = await issue.run(orderBody(order))
    if (answer?.ok !== true) return
    setIssued(answer.data)
    setOrder(EMPTY_ORDER)
  }
  return (
    <Dialog isOpen={isOpen} title={t('sims.issue')} onClose={close}>
      {issued === undefined ? (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault()
            void go()
          }}
        >
          <OrderFields order={order} onChange={setOrder} />
          {issue.error === undefined ? null : <ErrorNotice error={issue.error} />}
          <div class="actions">
            <Button onClick={close}>{t('ui.cancel')}</Button>
            <Button type="submit" kind="primary" isBusy={issue.isBusy}>
              {t('sims.issue.go', { count: Number(order.count) || 1 })}
            </Button>
          </div>
        </form>
      ) : (
        <Done issued={issued} onClose={close} />
      )}
    </Dialog>
  )
}

function Done({ issued, onClose }: { readonly issued: Issued; readonly onClose: () => void }) {
  const go = (to: string): void => {
    onClose()
    navigate(to)
  }
  const command = `svc sim export ${issued.batch_id} --format pysim`
  return (
    <div class="stack">
      <p>
        <strong>{t('sims.issued', { count: issued.issued })}</strong>
      </p>
      <div>
        <p>{t('sims.issued.cards')}</p>
        <p>
          <code>{command}</code> <Copy text={command} />
        </p>
      </div>
      <div class="actions">
        <Button onClick={onClose}>{t('ui.close')}</Button>
        <Panels on="sims.issued" batch={issued.batch_id} onLeave={onClose} />
        <Button kind="primary" onClick={() => go(`/sims?batch_id=${issued.batch_id}`)}>
          {t('sims.issued.show')}
        </Button>
      </div>
    </div>
  )
}
