import './sims.css'
import { useMemo, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { type Rows, useRows } from '../../api/use-rows.ts'
import { navigate, query, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { columns } from './columns.tsx'
import { ExportButton } from './export.tsx'
import { Filters, filterHere } from './filters.tsx'
import { useWhole } from './find-whole.ts'
import { IssueDialog } from './issue-dialog.tsx'
import { nameOf, pageOf, type Sim } from './sim.tsx'

const keyOf = (sim: Sim): string => sim.imsi_sha256_12
/** One change of a SIM tells of itself; what changes many is read anew as a whole. */
const ON = ['sim.*', 'session.*', 'quota.*']
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
  const sims = useRows(whole === undefined ? '/v1/sims' : undefined, filter, {
    keyOf,
    on: ON,
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
  const hasQuotas = has('fair-use')
  const shown = useMemo(() => columns(hasQuotas), [hasQuotas])
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
