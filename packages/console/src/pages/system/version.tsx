import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Copy } from '../../ui/copy.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { durationText, Time } from '../../ui/time.tsx'

/** Which version runs, for how long, and where its words are. */
export function Version() {
  const version = useQuery('/v1/version', {}, { on: ['plugin.*'] })
  const status = useQuery('/v1/status', {}, { everyMs: 60_000 })
  return (
    <section class="card" aria-label={t('system.version')}>
      <h2>{t('system.version')}</h2>
      <Loaded query={version}>
        {(running) => (
          <Facts
            facts={[
              [t('system.version.service'), running.version],
              [
                t('system.version.commit'),
                running.commit === null ? undefined : <code>{running.commit.slice(0, 12)}</code>,
              ],
              [
                t('system.version.built'),
                running.build_date === null ? undefined : <Time at={running.build_date} />,
              ],
              [
                t('system.uptime'),
                status.data === undefined ? undefined : durationText(status.data.uptime_s * 1_000),
              ],
              [
                t('system.node'),
                status.data === undefined ? undefined : (
                  <>
                    <code>{status.data.node_id}</code> <Copy text={status.data.node_id} />
                  </>
                ),
              ],
              [t('system.instance'), instanceText(status.data?.instance)],
              [t('system.licence'), 'Apache License 2.0'],
            ]}
          />
        )}
      </Loaded>
      <ul>
        <li>
          <a href="/docs">{t('app.docs')}</a>
        </li>
        <li>
          <a href="/docs/how-to/upgrade.html">{t('system.upgrade')}</a>
        </li>
      </ul>
    </section>
  )
}

function instanceText(
  instance: { readonly name: string; readonly role: string; readonly leader: string | null } | undefined,
) {
  if (instance === undefined || instance.role === 'alone') return undefined
  return t('system.instance.of', { name: instance.name, role: instance.role, leader: instance.leader ?? '–' })
}
