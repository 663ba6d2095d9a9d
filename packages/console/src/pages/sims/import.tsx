import './sims.css'
import { useState } from 'preact/hooks'
import { useLeavingGuard } from '../../app/use-leaving-guard.ts'
import { t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { FirstRows } from './first-rows.tsx'
import { rowsToImport } from './import-count.ts'
import { ImportResults } from './import-results.tsx'
import { type ImportOutcome, runImport, textOf } from './import-run.ts'

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
  const [tried, setTried] = useState<ImportOutcome | undefined>(undefined)
  const [done, setDone] = useState<ImportOutcome | undefined>(undefined)
  const [running, setRunning] = useState<'dry' | 'real' | undefined>(undefined)
  const isUnsaved = source.csv !== '' && (done === undefined || done.error !== undefined)
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
  const count = tried?.answer && rowsToImport(tried.answer, isAtomic)
  const isReady = source.csv.trim() !== '' && running === undefined
  return (
    <>
      <h1>{t('import.title')}</h1>
      <div class="card stack">
        <SourceFields source={source} onChange={take} isDisabled={running !== undefined} />
        <Field
          label={t('import.label')}
          help={t('import.label.help')}
          maxLength={64}
          value={label}
          onInput={setLabel}
        />
        <Checkbox
          label={t('import.atomic')}
          help={t('import.atomic.help')}
          isChecked={isAtomic}
          onChange={setAtomic}
        />
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
  const answer = shown?.answer
  return (
    <section class="card" aria-label={t('import.results')}>
      <h2>{t(isDry ? 'import.tried' : 'import.done')}</h2>
      {running === undefined ? null : <Progress label={t('import.running')} />}
      {shown?.error === undefined ? null : (
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
          label={t('import.csv')}
          help={t('import.csv.help')}
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
