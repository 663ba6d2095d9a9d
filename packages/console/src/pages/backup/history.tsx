import type { ItemOf } from '@steeple/client'
import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'

const SHOWN = 10

/** Backups on a schedule, and who has taken or restored one lately. */
export function History() {
  const query = (action: string) => ({ query: { action, limit: SHOWN } })
  /** What was refused has touched nothing: the trail tells of it. */
  const done = (entries: readonly ItemOf<'/v1/audit'>[]) =>
    entries.filter(({ outcome }) => outcome !== 'denied')
  const taken = useQuery('/v1/audit', query('backup.create'), { on: ['backup.*'] })
  const restored = useQuery('/v1/audit', query('backup.restore'), { on: ['backup.*'] })
  return (
    <section class="card" aria-label={t('backup.history')}>
      <h2>{t('backup.history')}</h2>
      <Schedule />
      <Loaded query={taken}>
        {({ entries }) =>
          done(entries).length === 0 ? (
            <EmptyState title={t('backup.history.none')}>{t('backup.history.none.help')}</EmptyState>
          ) : (
            <Entries label={t('backup.history.taken')} entries={done(entries)} />
          )
        }
      </Loaded>
      {restored.data === undefined || done(restored.data.entries).length === 0 ? null : (
        <Entries label={t('backup.history.restored')} entries={done(restored.data.entries)} />
      )}
      <p>
        <a href="/docs/how-to/backup.html">{t('backup.docs')}</a>
      </p>
    </section>
  )
}

function Entries({
  label,
  entries,
}: {
  readonly label: string
  readonly entries: readonly ItemOf<'/v1/audit'>[]
}) {
  return (
    <>
      <h3>{label}</h3>
      <ul>
        {entries.map(({ seq, at, principal, outcome, detail }) => (
          <li key={seq}>
            <Time at={at} />, {whoText(principal)}
            {detail.encrypted === false ? ` · ${t('backup.history.plain')}` : ''}
            {outcome === 'ok' ? '' : ` · ${t('backup.history.failed')}`}
          </li>
        ))}
      </ul>
    </>
  )
}

function Schedule() {
  const settings = useQuery('/v1/settings', {}, { on: ['config.*'] })
  const health = useQuery('/v1/health', {}, { on: ['health.*'], everyMs: 60_000 })
  const textOf = (key: string): string =>
    String(settings.data?.settings.find((one) => one.key === key)?.value ?? '')
  if (settings.data === undefined) return null
  const own = health.data?.components.find(({ name }) => name === 'backup')
  const every = textOf('backup.schedule')
  if (every === '') return <Notice tone="warn">{t('backup.schedule.none')}</Notice>
  return (
    <>
      <Facts
        facts={[
          [t('backup.schedule'), every],
          [t('backup.directory'), <code key="directory">{textOf('backup.directory')}</code>],
          [t('backup.keep'), textOf('backup.keep')],
        ]}
      />
      {own === undefined ? null : (
        <Notice tone={own.status === 'ok' ? 'ok' : 'bad'}>
          <Said>{own.detail}</Said>
        </Notice>
      )}
    </>
  )
}
