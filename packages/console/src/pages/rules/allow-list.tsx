import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { type EntryTyped, emptyEntry } from './rule-fields.ts'
import type { Rules } from './use-rules.ts'

/** The allow-list, row by row: edges in MHz as the licence has them, or channels; empty ones mean the edges of the band. */
export function AllowList({
  path,
  rules,
  isReader,
}: {
  readonly path: string
  readonly rules: Rules
  readonly isReader: boolean
}) {
  const status = useQuery('/v1/status')
  const typed = rules.draft[path]
  const entries = Array.isArray(typed) ? (typed as readonly EntryTyped[]) : []
  const put = (next: readonly EntryTyped[]): void => rules.set(path, next)
  const country = /^[A-Z]{2}$/.test(status.data?.country ?? '') ? (status.data?.country ?? '') : ''
  return (
    <div class="allow-list">
      {entries.length === 0 ? (
        <EmptyState title={t('rules.allow.none')}>{t('rules.allow.none.help')}</EmptyState>
      ) : null}
      {entries.map((entry, at) => (
        <Entry
          // A row has no name of its own; what is typed is kept outside of it.
          key={at}
          number={at + 1}
          entry={entry}
          isReader={isReader}
          error={errorOf(rules, path, at)}
          onChange={(next) => put(entries.with(at, next))}
          onRemove={() => put(entries.toSpliced(at, 1))}
        />
      ))}
      {rules.wrong.has(path) ? <p class="wrong">{t('rules.allow.wrong')}</p> : null}
      {isReader ? null : (
        <div>
          <Button onClick={() => put([...entries, emptyEntry(country)])}>{t('rules.allow.add')}</Button>
        </div>
      )}
    </div>
  )
}

interface EntryProps {
  readonly number: number
  readonly entry: EntryTyped
  readonly isReader: boolean
  readonly error: string | undefined
  readonly onChange: (entry: EntryTyped) => void
  readonly onRemove: () => void
}

const EDGES = ['low_mhz', 'high_mhz', 'earfcn_min', 'earfcn_max'] as const
const COLUMNS = ['band', ...EDGES, 'max_eirp_dbm', 'country'] as const

function Entry({ number, entry, isReader, error, onChange, onRemove }: EntryProps) {
  return (
    <fieldset>
      <legend>{t('rules.allow.entry', { number })}</legend>
      <Select
        label={t('rules.allow.technology')}
        value={entry.technology}
        isDisabled={isReader}
        onChange={(technology) => onChange({ ...entry, technology })}
        options={[
          { value: 'lte', label: 'LTE' },
          { value: 'nr', label: 'NR (5G)' },
        ]}
      />
      {COLUMNS.map((column) => (
        <Field
          key={column}
          label={t(`rules.allow.${column}`)}
          value={entry[column]}
          isDisabled={isReader}
          isRequired={column === 'band' || column === 'country'}
          placeholder={EDGES.some((edge) => edge === column) ? t('rules.allow.edge') : ''}
          onInput={(text) => onChange({ ...entry, [column]: text })}
        />
      ))}
      {isReader ? null : (
        <Button kind="quiet" onClick={onRemove} label={t('rules.allow.remove', { number })}>
          {t('rules.allow.away')}
        </Button>
      )}
      {error === undefined ? null : <p class="wrong">{error}</p>}
    </fieldset>
  )
}

function errorOf({ error }: Rules, path: string, at: number): string | undefined {
  const pointer = `/${path.replaceAll('.', '/')}/${at}`
  return error?.details.find(
    (detail) => detail.pointer === pointer || detail.pointer.startsWith(`${pointer}/`),
  )?.message
}
