import '../sims/sims.css'
import './subscriber.css'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import type { PageProps } from '../../app/pages.ts'
import { t } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Said } from '../../ui/said.tsx'
import { Attached, nameOf, SimState } from '../sims/sim.tsx'
import { Actions } from './actions.tsx'
import { Facts } from './facts.tsx'
import { OwnCodes } from './own-codes.tsx'
import { OwnSessions } from './own-sessions.tsx'
import { Quota } from './quota.tsx'
import { UsageChart } from './usage-chart.tsx'
import { Why } from './why.tsx'

/** Octets grow without an event. */
const LOOK_MS = 15_000

/** One subscriber: how it stands, what can be done, and why its phone is not on. */
export function Page({ params: { hash = '' } }: PageProps) {
  const read = useQuery(
    '/v1/sims/{imsi}',
    { path: { imsi: hash } },
    { on: ['sim.*', 'session.*', 'quota.*'], everyMs: LOOK_MS },
  )
  const { data: sim, error } = read
  if (sim === undefined)
    return error === undefined ? <Progress label={t('app.loading')} /> : <Missing error={error} />
  return (
    <>
      <p class="fine">
        <a href="/sims">{t('sims.title')}</a>
      </p>
      <h1>{nameOf(sim)}</h1>
      <div class="toolbar standing">
        <SimState sim={sim} />
        <Attached attached={sim.attached} />
      </div>
      {sim.provisioning.status === 'failed' ? (
        <Notice tone="bad">
          {sim.provisioning.last_error === null ? (
            t('sim.provisioning.failed')
          ) : (
            <Said>{sim.provisioning.last_error}</Said>
          )}
        </Notice>
      ) : null}
      <Actions sim={sim} etag={read.etag} onChanged={read.reload} />
      <div class="columns">
        <div>
          <Why key={hash} sim={sim} />
        </div>
        <div>
          <Facts sim={sim} />
          {/* Below what is there at once: an answer that comes late moves no button away from under a finger. */}
          {has('fair-use') ? <Quota key={hash} sim={sim} /> : null}
          {has('fair-use') ? <UsageChart key={hash} hash={hash} /> : null}
        </div>
      </div>
      <OwnSessions key={hash} hash={hash} />
      {has('esim-smdp') && may('sim:issuer') ? <OwnCodes key={hash} sim={sim} /> : null}
    </>
  )
}

function Missing({ error }: { readonly error: Parameters<typeof ErrorNotice>[0]['error'] }) {
  return (
    <>
      <h1>{t('sim.title')}</h1>
      {error.code === 'sim_not_found' ? <NotKnown /> : <ErrorNotice error={error} />}
    </>
  )
}

function NotKnown() {
  return (
    <EmptyState title={t('sim.missing')} action={<ButtonLink href="/sims">{t('sims.title')}</ButtonLink>}>
      {t('sim.missing.help')}
    </EmptyState>
  )
}
