import type { AnswerOf, Result } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { saveFile } from '../../api/download.ts'
import { useLeavingGuard } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Lamp, Progress, Said, type Tone } from '../../ui/parts.tsx'
import { pageOf } from './sim.tsx'

type Answer = AnswerOf<'POST', '/v1/sims/import'>

/** What became of one row of a file. */
type ImportResult = Answer['results'][number]

/** What an import, or its rehearsal, has come to; where it failed, what is in stays in. */
type ImportOutcome = Result<Answer>

interface ImportOptions {
  readonly isDry: boolean
  /** All rows or none. */
  readonly isAtomic: boolean
  /** For every row that has none. */
  readonly label: string
}

const LIMIT_MS = 600_000

/**
 * Imports a file as it is: the service reads its encoding and its form. What was imported before an error is told as existing
 * when the same file comes again, so nothing is lost and nothing is doubled.
 */
function runImport(content: Blob, { isDry, isAtomic, label }: ImportOptions): Promise<ImportOutcome> {
  return api.post('/v1/sims/import', {
    query: {
      ...(isDry ? { dry_run: true } : {}),
      ...(isAtomic ? { atomic: true } : {}),
      ...(label === '' ? {} : { label }),
    },
    body: { type: 'text/csv', content },
    timeoutMs: LIMIT_MS,
  })
}

/** What stands before the first row, and the rows that were refused, to be put right and imported again. */
function refusedRows(csv: string, results: readonly ImportResult[]): string {
  const all = csv.split(/\r?\n/)
  const head = all.slice(0, (results[0]?.line ?? 2) - 1)
  const refused = results
    .filter(({ status }) => status === 'error' || status === 'not_imported')
    .map(({ line }) => all[(line ?? 0) - 1] ?? '')
  return `${[...head, ...refused].join('\n')}\n`
}

/** The text of a file in UTF-8 or, with a byte order mark, UTF-16. */
async function textOf(file: Blob): Promise<string> {
  const octets = await file.arrayBuffer()
  const [first, second] = new Uint8Array(octets)
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  return new TextDecoder(isUtf16 ? (first === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8').decode(octets)
}

const TONES: Readonly<Record<string, Tone>> = {
  imported: 'ok',
  updated: 'ok',
  error: 'bad',
  not_imported: 'warn',
}
const STATUSES = ['imported', 'updated', 'exists', 'error', 'not_imported'] as const

/** What became of each row, those with an error first; and the refused ones as a file. */
function ImportResults({
  csv,
  results,
  isDry,
}: {
  readonly csv: string
  readonly results: readonly ImportResult[]
  readonly isDry: boolean
}) {
  const [isAll, setAll] = useState(false)
  if (results.length === 0) return null
  const refused = results.filter(({ status }) => status === 'error' || status === 'not_imported')
  const counts = STATUSES.map((status) => ({
    status,
    count: results.filter((result) => result.status === status).length,
  }))
  const isTold = ({ overwrites = [], kept = [] }: ImportResult): boolean =>
    overwrites.length + kept.length > 0
  const told = [...refused, ...results.filter(isTold)]
  const shown = isAll ? [...told, ...results.filter((result) => !told.includes(result))] : told
  return (
    <>
      <p aria-live="polite">
        {counts
          .filter(({ count }) => count > 0)
          .map(({ status, count }) =>
            t(`import.count.${isDry && status === 'imported' ? 'would' : status}`, { count }),
          )
          .join(', ')}
      </p>
      {refused.length === 0 ? null : (
        <Button onClick={() => saveFile('refused.csv', refusedRows(csv, results), 'text/csv')}>
          {t('import.refused.save')}
        </Button>
      )}
      <Checkbox text="import.all" isChecked={isAll} onChange={setAll} />
      {shown.length === 0 ? null : (
        <DataTable
          label={t('import.results')}
          rows={shown}
          keyOf={({ row }) => String(row)}
          columns={[
            { text: 'import.line', isNumeric: true, cell: ({ line, row }) => line ?? row },
            {
              text: 'import.status',
              cell: ({ status }) => (
                <Lamp
                  tone={TONES[status] ?? 'none'}
                  label={word('import.row', isDry && status === 'imported' ? 'would' : status)}
                />
              ),
            },
            {
              text: 'sims.why',
              cell: ({ error, overwrites = [], kept = [] }) => {
                const stays = kept.length === 0 ? [] : [t('import.kept', { fields: kept.join(', ') })]
                return <Said>{error ?? [...overwrites.map(changeText), ...stays].join('; ')}</Said>
              },
            },
            { text: 'sims.hash', cell: (result) => <Whose result={result} isDry={isDry} /> },
          ]}
        />
      )}
    </>
  )
}

/** What changes in a subscriber that the HSS has already. */
function changeText({
  field,
  before,
  after,
}: {
  field: string
  before: string | null
  after: string | null
}): string {
  return before === null && after === null
    ? t('import.overwrites.name', { field })
    : t('import.overwrites', { field, before: before ?? '–', after: after ?? '–' })
}

/** A link where there is a SIM now: not of what was only looked through, nor of a refused row. */
function Whose({
  result: { imsi_sha256_12: hash, status },
  isDry,
}: {
  readonly result: ImportResult
  readonly isDry: boolean
}) {
  if (hash === null) return null
  const isThere = status === 'exists' || status === 'updated' || (status === 'imported' && !isDry)
  return isThere ? <a href={pageOf(hash)}>{hash}</a> : <code>{hash}</code>
}

/** What is imported: a file, or what was pasted. */
interface Source {
  readonly name: string
  /** As text, for people. */
  readonly csv: string
  readonly content: Blob
}

const NOTHING: Source = { name: '', csv: '', content: new Blob() }

/** Brings in cards that exist: looked through first, then imported, with what became of each row. */
export function Page() {
  const [source, setSource] = useState<Source>(NOTHING)
  const [label, setLabel] = useState('')
  const [isAtomic, setAtomic] = useState(false)
  const [tried, setTried] = useState<ImportOutcome>()
  const [done, setDone] = useState<ImportOutcome>()
  const [running, setRunning] = useState<'dry' | 'real'>()
  const isUnsaved = source.csv !== '' && done?.ok !== true
  useLeavingGuard(isUnsaved ? t('import.leave') : undefined)
  const take = (next: Source): void => {
    setSource(next)
    setTried(undefined)
    setDone(undefined)
  }
  const run = async (isDry: boolean): Promise<void> => {
    setRunning(isDry ? 'dry' : 'real')
    const tell = isDry ? setTried : setDone
    tell(await runImport(source.content, { isDry, isAtomic: isAtomic && !isDry, label: label.trim() }))
    setRunning(undefined)
  }
  const count = tried?.ok === true ? rowsToImport(tried.data, isAtomic) : undefined
  const isReady = source.csv.trim() !== '' && running === undefined
  return (
    <>
      <h1>{t('import.title')}</h1>
      <div class="card stack">
        <SourceFields source={source} onChange={take} isDisabled={running !== undefined} />
        <Field text="import.label" maxLength={64} value={label} onInput={setLabel} />
        <Checkbox text="import.atomic" isChecked={isAtomic} onChange={setAtomic} />
        <div class="actions">
          <Button
            kind={tried === undefined ? 'primary' : 'plain'}
            isDisabled={!isReady}
            isBusy={running === 'dry'}
            onClick={() => void run(true)}
          >
            {t('import.try')}
          </Button>
          <Button
            kind={tried === undefined ? 'plain' : 'primary'}
            isDisabled={!isReady || count === undefined || count === 0}
            isBusy={running === 'real'}
            onClick={() => void run(false)}
          >
            {count === undefined ? t('import.go.all') : t('import.go', { count })}
          </Button>
        </div>
      </div>
      <Outcome source={source} tried={tried} done={done} running={running} onRetry={() => void run(false)} />
    </>
  )
}

function Outcome({
  source,
  tried,
  done,
  running,
  onRetry,
}: {
  readonly source: Source
  readonly tried: ImportOutcome | undefined
  readonly done: ImportOutcome | undefined
  readonly running: 'dry' | 'real' | undefined
  readonly onRetry: () => void
}) {
  const shown = done ?? tried
  if (running === undefined && shown === undefined) return null
  const isDry = done === undefined
  const answer = shown?.ok === true ? shown.data : undefined
  return (
    <section class="card" aria-label={t('import.results')}>
      <h2>{t(isDry ? 'import.tried' : 'import.done')}</h2>
      {running === undefined ? null : <Progress label={t('import.running')} />}
      {shown === undefined || shown.ok ? null : (
        <>
          <ErrorNotice error={shown.error} {...(isDry ? {} : { onRetry })} />
          {isDry ? null : <Notice>{t('import.cut')}</Notice>}
        </>
      )}
      {answer === undefined ? null : <FirstRows answer={answer} />}
      <ImportResults csv={source.csv} results={answer?.results ?? []} isDry={isDry} />
      {answer?.batch_id == null ? null : (
        <p>
          <ButtonLink href={`/sims?batch_id=${answer.batch_id}`}>
            {t('import.show', { batch: answer.batch_id })}
          </ButtonLink>
        </p>
      )}
    </section>
  )
}

function SourceFields({
  source,
  onChange,
  isDisabled,
}: {
  readonly source: Source
  readonly onChange: (source: Source) => void
  readonly isDisabled: boolean
}) {
  const pick = async (files: FileList | null): Promise<void> => {
    const file = files?.[0]
    if (file !== undefined) onChange({ name: file.name, csv: await textOf(file), content: file })
  }
  return (
    <>
      <p>{t('import.help')}</p>
      <div class="field">
        <label for="import-file">{t('import.file')}</label>
        <input
          id="import-file"
          type="file"
          accept=".csv,.tsv,.txt,.json,.jsonl,text/csv,application/json"
          disabled={isDisabled}
          onChange={(event) => void pick(event.currentTarget.files)}
        />
      </div>
      <details open={source.name === '' && source.csv !== ''}>
        <summary>{t('import.paste')}</summary>
        <Field
          text="import.csv"
          lines={6}
          isDisabled={isDisabled}
          value={source.name === '' ? source.csv : ''}
          onInput={(csv) => onChange({ name: '', csv, content: new Blob([csv]) })}
        />
      </details>
      {source.csv === '' ? null : (
        <p class="fine">{t('import.source', { name: source.name || t('import.pasted') })}</p>
      )}
    </>
  )
}

/** The first rows of a rehearsal as the service understands them, to compare with the file; and the columns it does not read. */
function FirstRows({ answer }: { readonly answer: AnswerOf<'POST', '/v1/sims/import'> }) {
  const rows = answer.first_rows ?? []
  const unread = answer.columns.filter(({ name, read_as }) => read_as === null && name !== '')
  return (
    <>
      {unread.length === 0 ? null : (
        <Notice>{t('import.unread', { columns: unread.map(({ name }) => name).join(', ') })}</Notice>
      )}
      {rows.length === 0 ? null : (
        <DataTable
          label={t('import.first')}
          rows={rows}
          keyOf={({ row }) => String(row)}
          columns={[
            { text: 'import.line', isNumeric: true, cell: ({ line, row }) => line ?? row },
            { text: 'sims.hash', cell: ({ imsi_sha256_12: hash }) => <code>{hash}</code> },
            { text: 'import.card', cell: ({ iccid_last4: end }) => (end === null ? '–' : `…${end}`) },
            { text: 'import.number', of: 'msisdn' },
            { text: 'import.apns', cell: ({ apns }) => apns.join(', ') },
            { text: 'sims.label', of: 'label' },
          ]}
        />
      )}
    </>
  )
}

/** What of a rehearsed import says what would become of its rows. */
interface Rehearsed {
  readonly results: readonly { readonly status: string }[]
}

/** What a row of a file may come to that changes something. */
const CHANGES: readonly string[] = ['imported', 'updated']

/** How many rows an import would bring in or change, by its rehearsal; all or none of them when it `isAtomic`. */
export function rowsToImport({ results }: Rehearsed, isAtomic: boolean): number {
  if (isAtomic && results.some(({ status }) => status === 'error')) return 0
  return results.filter(({ status }) => CHANGES.includes(status)).length
}
