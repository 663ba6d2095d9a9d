import type { AnswerOf } from '@steeple/client'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'

/** What a restore did, or would do. */
export type Restored = AnswerOf<'POST', '/v1/restore'>

/** A table of the store: how many rows it has now, and would have. */
interface TableCount {
  readonly name: string
  readonly now: number
  readonly later: number
}

/** What is in a backup that was checked: whose it is, when it was taken, and which tables would have other rows. */
export function Preview({ found, onGo }: { readonly found: Restored; readonly onGo: () => void }) {
  const tables = countsOf(found)
  const other = tables.filter(({ now, later }) => now !== later)
  return (
    <>
      <Notice tone="ok">{t('backup.checked')}</Notice>
      <Facts
        facts={[
          [t('backup.of'), found.node_name],
          [t('backup.at'), <Time key="at" at={found.created_at} />],
          [t('backup.version'), found.version],
          [t('backup.keys'), t(found.with_keys ? 'backup.keys.with' : 'backup.keys.without')],
        ]}
      />
      <h3>{t('backup.difference')}</h3>
      <p>{t('backup.difference.what', { count: other.length, all: tables.length })}</p>
      <DataTable
        label={t('backup.difference')}
        rows={other}
        columns={columns()}
        keyOf={({ name }) => name}
        empty={<p>{t('backup.difference.none')}</p>}
      />
      <div class="actions">
        <Button kind="danger" onClick={onGo}>
          {t('backup.restore.go')}
        </Button>
      </div>
    </>
  )
}

function countsOf({ counts, present }: Restored): readonly TableCount[] {
  const names = [...new Set([...Object.keys(counts), ...Object.keys(present)])].toSorted()
  return names.map((name) => ({ name, now: present[name] ?? 0, later: counts[name] ?? 0 }))
}

function columns(): readonly Column<TableCount>[] {
  return [
    { key: 'name', title: t('backup.table'), cell: ({ name }) => name.replaceAll('_', ' ') },
    { key: 'now', title: t('backup.rows.now'), cell: ({ now }) => now, isNumeric: true },
    { key: 'then', title: t('backup.rows.then'), cell: ({ later }) => later, isNumeric: true },
    {
      key: 'difference',
      title: t('backup.rows.difference'),
      cell: ({ now, later }) => (later > now ? `+${later - now}` : `−${now - later}`),
      isNumeric: true,
    },
  ]
}
