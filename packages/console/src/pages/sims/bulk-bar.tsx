import { useState } from 'preact/hooks'
import { may } from '../../api/session.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { BulkDialog } from './bulk-dialog.tsx'
import { BULK_ACTIONS, type BulkAction, MOST } from './bulk-run.ts'
import type { Sim } from './sim.tsx'

/** What can be done with the chosen SIMs; it is there when some are. */
export function BulkBar({
  rows,
  isMore,
  loadAll,
  selected,
  onSelect,
}: {
  readonly rows: readonly Sim[]
  readonly isMore: boolean
  readonly loadAll: (most: number) => Promise<readonly Sim[] | undefined>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}) {
  const [action, setAction] = useState<BulkAction | undefined>(undefined)
  const [isLoading, setLoading] = useState(false)
  if (selected.size === 0) return null
  const isWhole = !isMore && selected.size >= rows.length
  const selectAll = async (): Promise<void> => {
    setLoading(true)
    const all = await loadAll(MOST)
    setLoading(false)
    if (all !== undefined) onSelect(new Set(all.map((sim) => sim.imsi_sha256_12)))
  }
  return (
    <section class="toolbar bulk" aria-label={t('sims.bulk')}>
      <strong aria-live="polite">{t('ui.selected', { count: selected.size })}</strong>
      {isWhole ? null : (
        <Button kind="quiet" isBusy={isLoading} onClick={() => void selectAll()}>
          {t('sims.bulk.all')}
        </Button>
      )}
      <Button kind="quiet" onClick={() => onSelect(new Set())}>
        {t('sims.bulk.clear')}
      </Button>
      {BULK_ACTIONS.filter(({ role }) => may(role)).map(({ name }) => (
        <Button key={name} onClick={() => setAction(name)}>
          {t(`sims.bulk.${name}`)}
        </Button>
      ))}
      {action === undefined ? null : (
        <BulkDialog
          action={action}
          ids={[...selected]}
          rows={rows}
          onClose={(isDone) => {
            setAction(undefined)
            if (isDone) onSelect(new Set())
          }}
        />
      )}
    </section>
  )
}
