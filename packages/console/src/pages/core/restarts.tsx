import type { ItemOf } from '@steeple/client'
import { type Query, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'
import { restartedOf } from './restarted.ts'

type Entry = ItemOf<'/v1/audit'>

const SHOWN = 5

/** The daemons that were restarted last, and why. The trail of who did what has them. */
export function Restarts() {
  const mended = useEntries('core.restart')
  const applied = useEntries('core.config_apply')
  const error = mended.error ?? applied.error
  const isKnown = mended.data !== undefined && applied.data !== undefined
  const all = [...(mended.data?.entries ?? []), ...(applied.data?.entries ?? [])]
    .map(restartedOf)
    .filter(({ daemons }) => daemons.length > 0)
    .sort((a, b) => b.seq - a.seq)
    .slice(0, SHOWN)
  return (
    <section class="card" aria-labelledby="core-restarts">
      <h2 id="core-restarts">{t('core.restarts')}</h2>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {isKnown && all.length === 0 ? <p>{t('core.restarts.none')}</p> : null}
      <ul class="plain">
        {all.map(({ seq, at, daemons, why, files }) => (
          <li key={seq}>
            <p>
              <strong translate={false}>{daemons.join(', ')}</strong>:{' '}
              {why === undefined ? t('core.restarts.files', { files: files.join(', ') }) : <Said>{why}</Said>}{' '}
              <span class="fine">
                <Time at={at} relative />
              </span>
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}

function useEntries(action: string): Query<{ readonly entries: readonly Entry[] }> {
  return useQuery('/v1/audit', { query: { action, limit: SHOWN } }, { on: [action] })
}
