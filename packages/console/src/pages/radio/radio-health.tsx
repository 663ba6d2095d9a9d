import { useQuery } from '../../api/use-query.ts'
import { IncidentList, useBoard } from '../../app/incidents.tsx'
import { unknownSince } from '../../app/outages.tsx'
import { pageThatMends } from '../../app/pages-here.ts'
import type { Tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { HealthList } from '../../ui/health-list.tsx'
import { Card, EmptyState } from '../../ui/parts.tsx'

/** For the words of a radio that stays in its state. */
const LOOK_MS = 30_000
/** What speaks for the transmitter, beside the components of kind `ran`. */
const GATE = 'policy.tx-gate'

/** How the radio is, in its own words and those of its program. */
export function RadioHealth() {
  const health = useQuery('/v1/health', {}, { on: ['health.*', 'tx.*', 'ran.*', 'node.*'], everyMs: LOOK_MS })
  if (health.data === undefined) return null
  const parts = health.data.components.filter(({ kind, name }) => kind === 'ran' || name === GATE)
  return (
    <Card title={t('radio.health')}>
      {parts.length === 0 ? <EmptyState title={t('radio.health.none')} /> : null}
      <HealthList components={parts} unknownSince={unknownSince} />
    </Card>
  )
}

/** What keeps the radio off the air, or from its phones. */
export function RadioOutages() {
  const { components, incidents, reload } = useBoard()
  const own = incidents.filter(({ kind }) => pageThatMends(kind)?.path === '/radio')
  return <IncidentList board={{ components, incidents: own, reload }} />
}

/** Whether the box is on the air, in a sentence. */
export function sentenceOf(state: Tx): string {
  const profile = state.profile ?? ''
  if (state.transmitter === 'on') return t('radio.state.on', { profile })
  if (state.transmitter === 'unconfirmed') return t('radio.state.unconfirmed')
  return state.armed ? t('radio.state.armed', { profile }) : t('radio.state.off')
}
