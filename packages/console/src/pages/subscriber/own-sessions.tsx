import { useState } from 'preact/hooks'
import { useRows } from '../../api/use-rows.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { type Session, sessionColumns } from '../sessions/columns.tsx'
import { useNoCell } from '../sessions/no-cell.ts'

const keyOf = (session: Session): string => session.id
const LOOK_MS = 10_000

/** The sessions of one SIM: those that go on, or those that are over. */
export function OwnSessions({ hash }: { readonly hash: string }) {
  const [isEnded, setEnded] = useState(false)
  const isWithoutCell = useNoCell()
  const sessions = useRows(
    '/v1/sessions',
    { imsi: hash, ...(isEnded ? { state: 'ended' as const } : {}) },
    { keyOf, on: ['session.*'], everyMs: LOOK_MS },
  )
  return (
    <Card title={t('sessions.title')}>
      <Checkbox text="sim.sessions.ended" isChecked={isEnded} onChange={setEnded} />
      <ErrorNotice error={sessions.error} onRetry={sessions.reload} />
      {sessions.isLoading ? <Progress label={t('app.loading')} /> : null}
      <DataTable
        label={t('sessions.title')}
        rows={sessions.rows}
        columns={sessionColumns(true, isWithoutCell)}
        keyOf={keyOf}
        empty={
          sessions.isLoading ? null : (
            <p class="fine">{t(isEnded ? 'sim.sessions.none.ended' : 'sim.sessions.none')}</p>
          )
        }
        footer={sessions.isMore ? <Button onClick={sessions.more}>{t('ui.more')}</Button> : undefined}
      />
    </Card>
  )
}
