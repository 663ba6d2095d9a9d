import { useState } from 'preact/hooks'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { Said } from '../../ui/said.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { type ImportResult, refusedRows } from './import-run.ts'
import { pageOf } from './sim.tsx'

const TONES: Readonly<Record<string, Tone>> = {
  imported: 'ok',
  updated: 'ok',
  error: 'bad',
  not_imported: 'warn',
}
const STATUSES = ['imported', 'updated', 'exists', 'error', 'not_imported'] as const

/** What became of each row, those with an error first; and the refused ones as a file. */
export function ImportResults({
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
  const told = [...refused, ...results.filter(({ overwrites = [] }) => overwrites.length > 0)]
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
      <Checkbox label={t('import.all')} isChecked={isAll} onChange={setAll} />
      {shown.length === 0 ? null : (
        <DataTable
          label={t('import.results')}
          rows={shown}
          keyOf={({ row }) => String(row)}
          columns={[
            { key: 'line', title: t('import.line'), isNumeric: true, cell: ({ line, row }) => line ?? row },
            {
              key: 'status',
              title: t('import.status'),
              cell: ({ status }) => (
                <Lamp
                  tone={TONES[status] ?? 'none'}
                  label={word('import.row', isDry && status === 'imported' ? 'would' : status)}
                />
              ),
            },
            {
              key: 'why',
              title: t('sims.why'),
              cell: ({ error, overwrites }) => (
                <Said>{error ?? (overwrites ?? []).map(changeText).join('; ')}</Said>
              ),
            },
            {
              key: 'sim',
              title: t('sims.hash'),
              cell: (result) => <Whose result={result} isDry={isDry} />,
            },
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
