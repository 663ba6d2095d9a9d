import type { AnswerOf } from '@steeple/client'
import { useQuery } from '../../api/use-query.ts'
import { type Board, nameOf } from '../../app/incidents.tsx'
import { t } from '../../text/index.ts'
import { Lamp } from '../../ui/parts.tsx'
import { durationText } from '../../ui/time.tsx'

/** An outage from its begin to its end. */
export type Outage = AnswerOf<'GET', '/v1/incidents'>['incidents'][number]

/** So long the overview says that an outage is over. */
const NEWS_MS = 10 * 60_000
/** So many of them are said one by one. */
const MOST_SAID = 3
/** So long phones may take to come back. */
const RECOVERY_MS = 2 * 60_000

/** The outages of the last time, newest first. */
export function useOutages(): readonly Outage[] {
  const { data } = useQuery('/v1/incidents', {}, { on: ['incident.*'], everyMs: 60_000 })
  return data?.incidents ?? []
}

/** The outage from which phones come back now; undefined where none does. */
export function recoveringFrom(past: readonly Outage[], online: number): Outage | undefined {
  const isGoing = past.some(({ until, severity }) => until === null && severity === 'critical')
  return isGoing
    ? undefined
    : past.find((one) => isRecent(one, RECOVERY_MS) && online < (one.phones_off ?? 0))
}

function isRecent({ until }: Outage, forMs: number): boolean {
  return until !== null && Date.now() - Date.parse(until) < forMs
}

/** What was wrong a moment ago: what it was, how long it lasted, and what it meant. */
export function Over({
  past,
  online,
  incidents,
}: {
  readonly past: readonly Outage[]
  readonly online: number
  readonly incidents: Board['incidents']
}) {
  // What has come back is above.
  const recent = past.filter((one) => isRecent(one, NEWS_MS) && !incidents.some(({ id }) => id === one.id))
  const recovering = recoveringFrom(past, online)
  return (
    <>
      {recent.slice(0, MOST_SAID).map((one) => (
        <p key={`${one.id}${one.since}`}>
          <Lamp
            tone={one === recovering ? 'warn' : 'none'}
            label={`${t('home.over', {
              what: lastedText(one),
            })} ${phonesText(one, one === recovering ? online : undefined)}`.trim()}
          />
        </p>
      ))}
      {recent.length <= MOST_SAID ? null : (
        <p class="fine">{t('home.over.more', { count: recent.length - MOST_SAID })}</p>
      )}
    </>
  )
}

/** `online`: how many are back, while they come back. */
function phonesText({ phones_off: off }: Outage, online: number | undefined): string {
  if (off === null) return ''
  return online === undefined
    ? t('home.over.phones', { count: off })
    : t('home.over.recovering', { on: online, of: off })
}

/** What is over, and how long it lasted. */
export function lastedText(outage: Outage): string {
  const { since, until } = outage
  const time = durationText(Date.parse(until ?? since) - Date.parse(since))
  return t('home.over.lasted', { name: nameOf(outage), time })
}
