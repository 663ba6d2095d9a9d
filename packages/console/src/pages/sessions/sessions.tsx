import { useMemo } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { useRows } from '../../api/use-rows.ts'
import { nameOf } from '../../app/incidents.tsx'
import { outages } from '../../app/outages.tsx'
import { filter, navigate, query, setFilters } from '../../app/router.ts'
import { choices, t } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { EmptyState } from '../../ui/parts.tsx'
import { clockText } from '../../ui/time.tsx'
import { pageOf } from '../sims/sim.tsx'
import { type Session, sessionColumns, useNoCell } from './columns.tsx'

const STATES = ['active', 'idle', 'ended'] as const
const TECHNOLOGIES = ['lte', 'nr'] as const
const keyOf = (session: Session): string => session.id
/** Octets grow without an event. */
const LOOK_MS = 10_000

/** Who is online, and who was. */
export function Page() {
  const asked = useMemo(filterHere, [query.value])
  const sessions = useRows('/v1/sessions', asked, { keyOf, on: ['session.*'], everyMs: LOOK_MS })
  const isWithoutCell = useNoCell()
  const columns = useMemo(() => sessionColumns(false, isWithoutCell), [isWithoutCell])
  const isFiltered = Object.keys(asked).length > 0
  return (
    <>
      <h1>{t('sessions.title')}</h1>
      <AsTheyWere />
      <Filters />
      <PagedTable
        query={sessions}
        label={t('sessions.title')}
        columns={columns}
        keyOf={keyOf}
        onOpen={(session) => navigate(pageOf(session.imsi_sha256_12))}
        onEnd={sessions.more}
        empty={<NoSessions isFiltered={isFiltered} />}
      />
    </>
  )
}

/** While the core or the store is away, what is listed is older than it says. */
function AsTheyWere() {
  const away = outages.value.find(
    ({ kind, severity }) => severity === 'critical' && ['no_core', 'store_gone'].includes(kind),
  )
  if (away === undefined) return null
  return (
    <Notice tone="warn">
      <p>{t('sessions.asTheyWere', { what: nameOf(away), time: clockText(away.since) })}</p>
    </Notice>
  )
}

interface Asked {
  readonly state?: (typeof STATES)[number]
  readonly apn?: string
  readonly technology?: (typeof TECHNOLOGIES)[number]
}

function filterHere(): Asked {
  const state = STATES.find((one) => one === filter('state'))
  const technology = TECHNOLOGIES.find((one) => one === filter('technology'))
  return {
    ...(state === undefined ? {} : { state }),
    ...(filter('apn') === '' ? {} : { apn: filter('apn') }),
    ...(technology === undefined ? {} : { technology }),
  }
}

function Filters() {
  const apns = useQuery('/v1/policy').data?.apns ?? []
  return (
    <search class="toolbar filters">
      <Select
        text="sessions.state"
        value={filter('state')}
        onChange={(state) => setFilters({ state })}
        options={choices('sessions.state', STATES, t('sessions.state.going'))}
      />
      <Select
        text="sessions.apn"
        value={filter('apn')}
        onChange={(apn) => setFilters({ apn })}
        options={choices('', apns, t('sims.filter.all'))}
      />
      <Select
        text="sessions.technology"
        value={filter('technology')}
        onChange={(technology) => setFilters({ technology })}
        options={choices('sessions.technology', TECHNOLOGIES, t('sims.filter.all'))}
      />
    </search>
  )
}

function NoSessions({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return (
      <EmptyState
        title={t('sessions.none.found')}
        action={<Button onClick={() => navigate('/sessions')}>{t('sims.filter.clear')}</Button>}
      />
    )
  return (
    <EmptyState title={t('sessions.none')} action={<ButtonLink href="/sims">{t('sims.title')}</ButtonLink>}>
      {t('sessions.none.help')}
    </EmptyState>
  )
}
