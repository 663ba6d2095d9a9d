import type { AnswerOf, Change } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { listen, recent } from '../../api/changes.ts'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { nameOf as incidentName } from '../../app/incidents.tsx'
import { ifPage } from '../../app/pages-here.ts'
import { componentText, t, word } from '../../text/index.ts'
import { Card } from '../../ui/parts.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { lastedText, type Outage } from './over.tsx'
import { happened, UNTOLD } from './untold.ts'

type Status = AnswerOf<'GET', '/v1/status'>
type Entry = AnswerOf<'GET', '/v1/audit'>['entries'][number]

/** Something that happened, from whichever told it. */
interface Happening {
  readonly key: string
  readonly at: string
  readonly type: string
  readonly subject: string
  /** Of the SIM that it happened to, where that is known. */
  readonly label?: string | null
  /** Who did it; undefined for what happens by itself. */
  readonly who: string | undefined
  /** What it is about, where its subject does not say so. */
  readonly what?: string
  /** How many more of the kind came with it. */
  readonly more?: number
}

/** What changes labels. */
const RELABELLED = ['sim.label', 'sim.bulk', 'sim.import']

/** Labels of a few SIMs that an event names: events have none. Read once, and after they may have changed. */
function useLabels(hashes: readonly string[]): ReadonlyMap<string, string> {
  const [labels, setLabels] = useState<ReadonlyMap<string, string>>(new Map())
  const wanted = hashes.toSorted().join(' ')
  useEffect(() => {
    if (wanted === '') return undefined
    let isOver = false
    const look = async (): Promise<void> => {
      const found = await Promise.all(wanted.split(' ').map(labelOf))
      if (!isOver) setLabels(new Map(found.flat()))
    }
    void look()
    const stop = listen(RELABELLED, () => void look())
    return () => {
      isOver = true
      stop()
    }
  }, [wanted])
  return labels
}

async function labelOf(hash: string): Promise<readonly (readonly [hash: string, label: string])[]> {
  const answer = await api.get('/v1/sims/{imsi}', { path: { imsi: hash } })
  const label = answer.ok ? answer.data.label : null
  return label === null ? [] : [[hash, label]]
}

const SHOWN = 10
/** Phones come and go by the dozen, and so do boxes of a large mesh. */
const OF_MANY = /^(sim\.(attach|attached|detached)|session\.|node\.|peer\.|mesh\.publish|alert\.)/
const TOGETHER_MS = 5 * 60_000
/** A start is no news after a day. */
const STARTED_S = 86_400
/** An entry and the event of the same change are written together. */
const SAME_MS = 3_000
const HASH = /^[0-9a-f]{12}$/

/** The last ten things that happened, in plain words. Who may not read the trail sees outages, and what happens from now on. */
export function Happenings({
  status,
  past,
}: {
  readonly status: Status | undefined
  readonly past: readonly Outage[]
}) {
  const trail = useQuery(
    may('operator') ? '/v1/audit' : undefined,
    { query: { limit: 2 * SHOWN } },
    { on: ['*'] },
  )
  const rows = together([
    ...merged(trail.data?.entries ?? [], recent.value),
    ...past.flatMap(ofOutage),
    ...startOf(status),
  ])
  const unnamed = rows.filter(({ subject, label }) => label === undefined && HASH.test(subject))
  const labels = useLabels([...new Set(unnamed.map(({ subject }) => subject))])
  const audit = ifPage('/audit')
  return (
    <Card title={t('home.happenings')}>
      {rows.length === 0 ? <p>{t('home.happenings.none')}</p> : null}
      <ol class="home-list">
        {rows.map(({ key, at, type, subject, label, who, what, more = 0 }) => (
          <li key={key}>
            <span class="words">
              {word('event', type)}{' '}
              {what === undefined ? (
                subjectOf(type, subject, label ?? labels.get(subject), status?.node_id)
              ) : (
                <strong>{what}</strong>
              )}
              {more === 0 ? null : <> {t('home.happenings.more', { more })}</>}
            </span>
            <span class="fine by-whom">
              {who === undefined ? null : <span>{who}</span>}
              <Time at={at} relative />
            </span>
          </li>
        ))}
      </ol>
      {audit === undefined ? null : <a href={audit}>{t('home.trail')}</a>}
    </Card>
  )
}

/** Whom or what it happened to, where that says something. */
function subjectOf(type: string, subject: string, label: string | undefined, own: string | undefined) {
  // The words of its set-up say which box.
  if (type === 'node.init') return null
  if (type.startsWith('node.') && subject === own) return <strong>{t('home.thisBox')}</strong>
  if (HASH.test(subject)) return <SubscriberName hash={subject} label={label ?? null} />
  return type.startsWith('health.') ? <strong>{componentText(subject)}</strong> : null
}

function merged(entries: readonly Entry[], changes: readonly Change[]): readonly Happening[] {
  const asked = entries
    .filter(({ outcome }) => outcome === 'ok')
    .map((entry) => ({
      key: `a${entry.seq}`,
      at: entry.at,
      type: happened(entry),
      subject: entry.target,
      label: entry.label,
      who: entry.principal.kind === 'system' ? undefined : whoText(entry.principal),
    }))
  const isTold = ({ type, at }: Change): boolean =>
    asked.some((one) => one.type === type && Math.abs(Date.parse(one.at) - Date.parse(at)) < SAME_MS)
  const own = changes
    .filter((change) => !UNTOLD.includes(change.type) && !isTold(change))
    .map(({ id, at, type, subject, data }) => ({
      ...{ key: `e${id}`, at, type, subject: subject ?? '', who: undefined },
      ...(type.startsWith('alert.') && typeof data.rule === 'string'
        ? { what: word('alerts.rule', data.rule) }
        : {}),
    }))
  return [...asked, ...own]
}

/** The begin and the end of an outage. */
function ofOutage(outage: Outage): readonly Happening[] {
  const { id, since, until } = outage
  const began = {
    ...{ key: `b${id}${since}`, at: since, type: 'incident.began', subject: '', who: undefined },
    what: incidentName(outage),
  }
  if (until === null) return [began]
  return [
    began,
    { ...began, key: `o${id}${since}`, at: until, type: 'incident.over', what: lastedText(outage) },
  ]
}

/** That the box was started, as long as it is news. */
function startOf(status: Status | undefined): readonly Happening[] {
  if (status === undefined || status.uptime_s > STARTED_S) return []
  const at = new Date(Date.now() - status.uptime_s * 1_000).toISOString()
  return [{ key: 'start', at, type: 'box.start', subject: '', who: undefined }]
}

/** The newest, where many of a kind that come one after the other are one: thirteen phones or boxes that are back hide no outage. */
function together(all: readonly Happening[]): readonly Happening[] {
  const rows: Happening[] = []
  for (const one of all.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))) {
    const last = rows.at(-1)
    const isMore =
      last !== undefined &&
      last.type === one.type &&
      last.what === one.what &&
      OF_MANY.test(one.type) &&
      Date.parse(last.at) - Date.parse(one.at) < TOGETHER_MS
    if (isMore) rows[rows.length - 1] = { ...last, more: (last.more ?? 0) + 1 }
    else rows.push(one)
  }
  return rows.slice(0, SHOWN)
}
