import { useQuery } from '../../api/use-query.ts'
import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { Happenings } from './happenings.tsx'
import { Machinery } from './machinery.tsx'
import { Needs } from './needs.tsx'
import { People } from './people.tsx'
import { Truth } from './truth.tsx'
import './home.css'

/** What the status is told anew by; and how often besides, for counts of a core that tells of nobody. */
const CHANGES = {
  on: [
    ...[
      'node.*',
      'plugin.*',
      'core.*',
      'peer.*',
      'clock.*',
      'tx.*',
      'lifecycle.*',
      'config.*',
      'health.*',
      'ran.*',
    ],
    ...['sim.attached', 'sim.detached', 'sim.many', 'session.*'],
  ],
  everyMs: 30_000,
} as const

/** The first screen: whether the box is on the air, what needs somebody, who is on, what it is connected to, what happened. */
export function Page() {
  const status = useQuery('/v1/status', {}, CHANGES)
  return (
    <>
      <h1>{t('home.title')}</h1>
      <Truth state={tx.value} />
      <Needs status={status} />
      <div class="cards">
        <People />
        <Machinery status={status} />
      </div>
      <Happenings />
    </>
  )
}
