import type { AnswerOf, ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { usePages } from '../../api/use-rows.ts'
import { choices, t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { DataTable, PagedTable } from '../../ui/data-table.tsx'
import { Checkbox, Field, Select } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Lamp, Said } from '../../ui/parts.tsx'
import { pageOf } from './sim.tsx'

type Foreign = ItemOf<'/v1/sims/foreign'>
type Report = AnswerOf<'POST', '/v1/sims/adopt'>

const SOURCES = ['core', 'other'] as const
type Source = (typeof SOURCES)[number]

/** Large networks take a while. */
const LIMIT_MS = 600_000

/** The subscribers of a core that are not yours: looked at, tried, and taken over. */
export function Page() {
  const [source, setSource] = useState<Source>('core')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [label, setLabel] = useState('')
  const [isAll, setAll] = useState(false)
  const [tried, setTried] = useState<Report>()
  const [done, setDone] = useState<Report>()
  // A core that cannot list them says why.
  const { data: first } = useQuery('/v1/sims/foreign', { query: { source, limit: 1 } })
  const list = usePages('/v1/sims/foreign', { source }, ['sim.adopt', 'sim.revoke'])
  const action = useAction((isDry: boolean) =>
    api.post('/v1/sims/adopt', {
      body: {
        source,
        ...(isAll ? { all: true as const } : { ids: [...chosen] }),
        ...(label.trim() === '' ? {} : { label: label.trim() }),
        dry_run: isDry,
      },
      timeoutMs: LIMIT_MS,
    }),
  )
  const run = async (isDry: boolean): Promise<void> => {
    const answer = await action.run(isDry)
    if (answer?.ok !== true) return
    setTried(isDry ? answer.data : undefined)
    setDone(isDry ? undefined : answer.data)
    if (!isDry) setChosen(new Set())
  }
  const again = (change: () => void): void => {
    change()
    setTried(undefined)
    setDone(undefined)
  }
  return (
    <>
      <h1>{t('foreign.title')}</h1>
      <p>{t('foreign.help')}</p>
      <div class="toolbar">
        <Select
          text="foreign.source"
          value={source}
          onChange={(value) =>
            again(() => {
              setSource(value === 'other' ? 'other' : 'core')
              setChosen(new Set())
            })
          }
          options={choices('foreign.source', SOURCES)}
        />
      </div>
      {first?.problem == null ? null : (
        <Notice>
          <Said>{first.problem}</Said>
        </Notice>
      )}
      <PagedTable
        label={t('foreign.title')}
        query={list}
        keyOf={keyOf}
        columns={columns()}
        empty={first?.problem == null ? <Nobody source={source} /> : null}
        {...(may('sim:issuer')
          ? { selected: chosen, onSelect: (hashes: ReadonlySet<string>) => again(() => setChosen(hashes)) }
          : {})}
      />
      {may('sim:issuer') && (list.data?.length ?? 0) > 0 ? (
        <div class="card stack">
          <Checkbox text="foreign.all" isChecked={isAll} onChange={(is) => again(() => setAll(is))} />
          <Field text="foreign.label" maxLength={64} value={label} onInput={setLabel} />
          <Buttons
            isReady={(isAll || chosen.size > 0) && !action.isBusy}
            isBusy={action.isBusy}
            tried={tried}
            onRun={(isDry) => void run(isDry)}
          />
          <ErrorNotice error={action.error} />
        </div>
      ) : null}
      <Outcome report={done ?? tried} isDry={done === undefined} isOwn={source === 'core'} />
    </>
  )
}

/** First tried, then done. */
function Buttons({
  isReady,
  isBusy,
  tried,
  onRun,
}: {
  readonly isReady: boolean
  readonly isBusy: boolean
  readonly tried: Report | undefined
  readonly onRun: (isDry: boolean) => void
}) {
  const isTried = tried !== undefined
  return (
    <div class="actions">
      <Button
        kind={isTried ? 'plain' : 'primary'}
        isDisabled={!isReady}
        isBusy={isBusy}
        onClick={() => onRun(true)}
      >
        {t('foreign.try')}
      </Button>
      <Button
        kind={isTried ? 'primary' : 'plain'}
        isDisabled={!isReady || (tried?.adopted ?? 0) === 0}
        isBusy={isBusy}
        onClick={() => onRun(false)}
      >
        {isTried ? t('foreign.go', { count: tried.adopted }) : t('foreign.go.none')}
      </Button>
    </div>
  )
}

const keyOf = ({ imsi_sha256_12: hash }: { readonly imsi_sha256_12: string }): string => hash

const columns = () => [
  { text: 'sims.hash', cell: (row: Foreign) => <code>{row.imsi_sha256_12}</code> },
  { text: 'import.number', cell: (row: Foreign) => row.msisdn ?? '–' },
  { text: 'foreign.may', cell: (row: Foreign) => row.slices.map(sliceText).join(' · ') || '–' },
  {
    text: 'foreign.addresses',
    cell: (row: Foreign) =>
      row.slices.flatMap(({ apns }) => apns.flatMap(({ addresses }) => addresses)).join(', ') || '–',
  },
  {
    text: 'foreign.state',
    cell: ({ problem, is_blocked: isBlocked }: Foreign) =>
      problem === null ? (
        <Lamp tone={isBlocked ? 'warn' : 'ok'} label={t(isBlocked ? 'foreign.blocked' : 'foreign.open')} />
      ) : (
        <Said>{problem}</Said>
      ),
  },
]

/** `1-010203: internet, ims`. */
function sliceText({ sst, sd, apns }: Foreign['slices'][number]): string {
  const name = sd === null ? String(sst) : `${sst}-${sd}`
  return `${name}: ${apns.map((apn) => apn.name).join(', ')}`
}

function Nobody({ source }: { readonly source: Source }) {
  return <p>{t(source === 'core' ? 'foreign.none' : 'foreign.none.other')}</p>
}

/** What would be done, or was: counts, and each subscriber that something is to be said of. */
function Outcome({
  report,
  isDry,
  isOwn,
}: {
  readonly report: Report | undefined
  readonly isDry: boolean
  readonly isOwn: boolean
}) {
  if (report === undefined) return null
  const { results, adopted, failed, batch_id: batch } = report
  const same = results.filter((one) => one.is_unchanged === true).length
  const told = results.filter(
    ({ error, changes, is_unchanged: is }) => error !== null || changes.length > 0 || is === false,
  )
  return (
    <section class="card" aria-label={t('foreign.results')}>
      <h2>{t(isDry ? 'foreign.tried' : 'foreign.done')}</h2>
      <p aria-live="polite">
        {t(isDry ? 'foreign.would' : 'foreign.taken', { count: adopted })}
        {failed === 0 ? null : <> {t('foreign.failed', { count: failed })}</>}
      </p>
      {isDry ? null : <Notice>{t('foreign.same', { count: same })}</Notice>}
      {told.length === 0 ? null : (
        <DataTable
          label={t('foreign.results')}
          rows={told}
          keyOf={keyOf}
          columns={[
            { text: 'sims.hash', cell: (row) => <Whose row={row} isDry={isDry} /> },
            {
              key: 'why',
              title: t(isDry ? 'foreign.whatWould' : 'foreign.what'),
              cell: ({ error, changes }) =>
                error === null ? whatText(changes, isDry, isOwn) : <Said>{error}</Said>,
            },
          ]}
        />
      )}
      {batch === null ? null : (
        <p>
          <ButtonLink href={`/sims?batch_id=${batch}`}>{t('import.show', { batch })}</ButtonLink>
        </p>
      )}
    </section>
  )
}

/** What changes of one that is taken over, in words. */
function whatText(changes: readonly string[], isDry: boolean, isOwn: boolean): string {
  if (changes.length === 0) return t('foreign.changed')
  const fields = changes.map((one) => (one === 'AMBR' ? t('foreign.ambr') : one)).join(', ')
  if (!isOwn) return t('foreign.lacks', { fields })
  return t(isDry ? 'foreign.anew.would' : 'foreign.anew', { fields })
}

function Whose({ row, isDry }: { readonly row: Report['results'][number]; readonly isDry: boolean }) {
  const { imsi_sha256_12: hash, status } = row
  return status === 'adopted' && !isDry ? <a href={pageOf(hash)}>{hash}</a> : <code>{hash}</code>
}
