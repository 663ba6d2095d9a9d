import { useState } from 'preact/hooks'
import { usePages } from '../../api/use-pages.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { happened } from '../home/untold.ts'
import { actionText } from './actions.ts'
import { type Entry, toneOf } from './entry.ts'
import { EntryDialog } from './entry-dialog.tsx'
import { AuditFilters } from './filters.tsx'
import { Verification } from './verification.tsx'

/** The trail: who did what and when, and whether it still holds what was written. */
export function Page() {
  const [shown, setShown] = useState<Entry | undefined>(undefined)
  const entries = usePages('/v1/audit', queryOf(), ['*'])
  return (
    <>
      <h1>{t('audit.title')}</h1>
      <Verification />
      <AuditFilters />
      <Loaded query={entries}>
        {(rows) => (
          <DataTable
            label={t('audit.title')}
            rows={rows}
            columns={columns(setShown)}
            keyOf={({ seq }) => String(seq)}
            onOpen={setShown}
            empty={<EmptyState title={t('audit.none')}>{t('audit.none.help')}</EmptyState>}
            footer={
              entries.more === undefined ? null : <Button onClick={entries.more}>{t('ui.more')}</Button>
            }
          />
        )}
      </Loaded>
      {shown === undefined ? null : <EntryDialog entry={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

function queryOf(): Readonly<Record<string, string>> {
  const times = [
    ['from', filter('from')],
    ['to', filter('to')],
  ].flatMap(([name = '', text = '']) => {
    // An address may say anything.
    const at = new Date(text)
    return Number.isNaN(at.getTime()) ? [] : [[name, at.toISOString()]]
  })
  const texts = ['action', 'principal', 'target'].flatMap((name) =>
    filter(name) === '' ? [] : [[name, filter(name)]],
  )
  return Object.fromEntries([...times, ...texts])
}

function columns(onOpen: (entry: Entry) => void): readonly Column<Entry>[] {
  return [
    { key: 'at', title: t('audit.when'), isTight: true, cell: ({ at }) => <Time at={at} /> },
    {
      key: 'who',
      title: t('audit.who'),
      cell: ({ principal }) => (
        <Button
          kind="quiet"
          label={t('audit.onlyWho', { name: whoText(principal) })}
          onClick={() => setFilters({ principal: principal.id })}
        >
          {whoText(principal)}
        </Button>
      ),
    },
    {
      key: 'what',
      title: t('audit.what'),
      cell: (entry) => (
        <Button
          kind="quiet"
          label={`${actionText(happened(entry))}, ${t('audit.entry', { seq: entry.seq })}`}
          onClick={() => onOpen(entry)}
        >
          {actionText(happened(entry))}
        </Button>
      ),
    },
    { key: 'target', title: t('audit.target'), cell: ({ target }) => <code>{target}</code>, isWide: true },
    {
      key: 'outcome',
      title: t('audit.outcome'),
      cell: ({ outcome }) => <Lamp tone={toneOf(outcome)} label={word('audit.outcome', outcome)} />,
    },
  ]
}
