import './subscriber.css'
import type { AnswerOf, Problem } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { useRows } from '../../api/use-rows.ts'
import type { PageProps } from '../../app/pages.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { t, word } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { rateText } from '../../ui/bytes.tsx'
import { Copy } from '../../ui/copy.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Card, EmptyState, Facts, Progress, Said } from '../../ui/parts.tsx'
import { Time } from '../../ui/time.tsx'
import { type Session, sessionColumns, useNoCell } from '../sessions/columns.tsx'
import { Attached, nameOf, pageOf, type Sim, SimState } from '../sims/sim.tsx'
import { Actions } from './actions.tsx'
import { Why } from './why.tsx'

type ShownSim = AnswerOf<'GET', '/v1/sims/{imsi}'>

/** Octets grow without an event. */
const LOOK_MS = 15_000

/** One subscriber: how it stands, what can be done, and why its phone is not on. */
export function Page({ params: { hash = '' } }: PageProps) {
  const read = useQuery(
    '/v1/sims/{imsi}',
    { path: { imsi: hash } },
    { on: ['sim.*', 'session.*'], everyMs: LOOK_MS },
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
      {sim.provisioning.status === 'failed' ? (
        <Notice tone="bad">
          {sim.provisioning.last_error === null ? (
            t('sim.provisioning.failed')
          ) : (
            <Said>{sim.provisioning.last_error}</Said>
          )}
        </Notice>
      ) : null}
      <Waiting sim={sim} />
      <Actions sim={sim} etag={read.etag} onChanged={read.reload} />
      <div class="columns">
        <div>
          <Now sim={sim} />
          {/* Below what is there at once: an answer that comes late moves no button away from under a finger. */}
          <Panels key={hash} on="subscriber" sim={sim} />
        </div>
        <Why key={hash} sim={sim} />
        <Details sim={sim} />
      </div>
      <OwnSessions key={hash} hash={hash} />
      <Panels key={hash} on="subscriber.end" sim={sim} />
    </>
  )
}

/** What writes to no core: SIMs are records alone. */
const NO_HSS = 'none'

/** What the last change still waits for, or that no core hears of any. */
function Waiting({ sim: { provisioning } }: { readonly sim: Sim }) {
  const { status, waits_for: waitsFor, driver } = provisioning
  if (driver === NO_HSS) return <Notice tone="warn">{t('sim.step.nowhere')}</Notice>
  if (status === 'failed' || waitsFor === null) return null
  return <Notice tone="warn">{t(waitsFor === 'phone' ? 'sim.step.blocked' : 'sim.step.away')}</Notice>
}

function Missing({ error }: { readonly error: Problem }) {
  return (
    <>
      <h1>{t('sim.title')}</h1>
      {error.code === 'sim_not_found' ? <NotKnown /> : <ErrorNotice error={error} />}
    </>
  )
}

function NotKnown() {
  const foreign = useQuery('/v1/status', {}).data?.foreign_subscribers ?? 0
  return (
    <EmptyState title={t('sim.missing')} action={<ButtonLink href="/sims">{t('sims.title')}</ButtonLink>}>
      {t(foreign > 0 ? 'sim.missing.foreign' : 'sim.missing.help')}
    </EmptyState>
  )
}

/** What people ask on the phone: on or off, since when, where, and under which address. */
function Now({ sim }: { readonly sim: Sim }) {
  const { data } = useQuery(
    '/v1/sessions',
    { query: { imsi: sim.imsi_sha256_12, limit: 1 } },
    { on: ['session.*'], everyMs: LOOK_MS },
  )
  const session = data?.sessions[0]
  return (
    <section class="card" aria-label={t('sims.filter.attached')}>
      <Facts
        facts={[
          [t('sims.filter.attached'), <Attached attached={sim.attached} />],
          [t('sims.filter.state'), <SimState sim={sim} />],
          [
            t('sims.lastSeen'),
            sim.last_seen_at === null ? t('sims.never') : <Time at={sim.last_seen_at} relative />,
          ],
          [t('sessions.since'), session && <Time at={session.started_at} relative />],
          [
            t('sessions.cell'),
            session &&
              [word('sessions.technology', session.technology), session.cell].filter(Boolean).join(' '),
          ],
          [t('sessions.address'), session && <code>{session.ue_ip ?? session.ue_ipv6_prefix}</code>],
          [t('sessions.apn'), session?.apn],
          [t('order.msisdn'), sim.msisdn],
        ]}
      />
    </section>
  )
}

function Details({ sim }: { readonly sim: ShownSim }) {
  const {
    imsi_sha256_12: hash,
    ambr,
    provisioning: { status, driver },
  } = sim
  return (
    <Card title={t('sim.facts')}>
      <Facts
        facts={[
          [
            t('sims.hash'),
            <>
              <code>{hash}</code> <Copy text={hash} />
            </>,
          ],
          [t('sims.iccid'), sim.iccid_last4 === null ? undefined : `…${sim.iccid_last4}`],
          [t('sim.apns'), sim.apns.join(', ')],
          [t('sim.slices'), sim.in_core?.slices.join(', ')],
          [t('sim.fixed'), sim.in_core?.fixed_addresses.join(', ') || undefined],
          [t('sim.speed'), `↓ ${rateText(ambr.downlink_bps)} ↑ ${rateText(ambr.uplink_bps)}`],
          [
            t('sims.filter.profile'),
            <a href={`/sims?profile=${encodeURIComponent(sim.profile)}`}>{sim.profile}</a>,
          ],
          [t(sim.adopted_at === null ? 'sim.issued' : 'sim.adopted'), <Time at={sim.issued_at} />],
          [
            t('sim.firstAttach'),
            sim.first_attach_at === null ? t('sims.never') : <Time at={sim.first_attach_at} />,
          ],
          [t('sims.expires'), <Time at={sim.expires_at} />],
          [t('sim.hss'), driver === NO_HSS ? t('sim.hss.nowhere') : word('sim.hss', status)],
          ...linked(sim),
        ]}
      />
    </Card>
  )
}

function linked({ batch_id: batch, replaces }: Sim): readonly (readonly [string, ComponentChildren])[] {
  return [
    batch === null
      ? []
      : [[t('sims.filter.batch_id'), <a href={`/sims?batch_id=${batch}`}>{batch}</a>] as const],
    replaces === null ? [] : [[t('sim.replaces'), <a href={pageOf(replaces)}>{replaces}</a>] as const],
  ].flat()
}

const keyOf = (session: Session): string => session.id
const SESSIONS_LOOK_MS = 10_000

/** The sessions of one SIM: those that go on, or those that are over. */
function OwnSessions({ hash }: { readonly hash: string }) {
  const [isEnded, setEnded] = useState(false)
  const isWithoutCell = useNoCell()
  const sessions = useRows(
    '/v1/sessions',
    { imsi: hash, ...(isEnded ? { state: 'ended' as const } : {}) },
    { keyOf, on: ['session.*'], everyMs: SESSIONS_LOOK_MS },
  )
  return (
    <Card title={t('sessions.title')}>
      <Checkbox text="sim.sessions.ended" isChecked={isEnded} onChange={setEnded} />
      <PagedTable
        query={sessions}
        label={t('sessions.title')}
        columns={sessionColumns(true, isWithoutCell)}
        keyOf={keyOf}
        empty={<p class="fine">{t(isEnded ? 'sim.sessions.none.ended' : 'sim.sessions.none')}</p>}
      />
    </Card>
  )
}
