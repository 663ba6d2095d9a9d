import type { AnswerOf, Change } from '@steeple/client'
import { recent } from '../../api/changes.ts'
import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { ifPage } from '../../app/pages-here.ts'
import { t, word } from '../../text/index.ts'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { happened, UNTOLD } from './untold.ts'

type Entry = AnswerOf<'GET', '/v1/audit'>['entries'][number]

/** Something that happened, from whichever told it. */
interface Happening {
  readonly key: string
  readonly at: string
  readonly type: string
  readonly subject: string
  /** Who did it; undefined for what happens by itself. */
  readonly who: string | undefined
}

const SHOWN = 10
/** An entry and the event of the same change are written together. */
const SAME_MS = 3_000
const HASH = /^[0-9a-f]{12}$/

/** The last ten things that happened, in plain words. Who may not read the trail sees what happens from now on. */
export function Happenings() {
  const trail = useQuery(
    may('operator') ? '/v1/audit' : undefined,
    { query: { limit: 2 * SHOWN } },
    { on: ['*'] },
  )
  const rows = merged(trail.data?.entries ?? [], recent.value)
  const audit = ifPage('/audit')
  return (
    <section class="card" aria-labelledby="happenings">
      <h2 id="happenings">{t('home.happenings')}</h2>
      {rows.length === 0 ? <p>{t('home.happenings.none')}</p> : null}
      <ol class="home-list">
        {rows.map(({ key, at, type, subject, who }) => (
          <li key={key}>
            <span class="words">
              {word('event', type)} {subjectOf(type, subject)}
            </span>
            <span class="fine by-whom">
              {who === undefined ? null : <span>{who}</span>}
              <Time at={at} relative />
            </span>
          </li>
        ))}
      </ol>
      {audit === undefined ? null : <a href={audit}>{t('home.trail')}</a>}
    </section>
  )
}

/** Whom or what it happened to, where that says something. */
function subjectOf(type: string, subject: string) {
  if (HASH.test(subject)) return <SubscriberName hash={subject} />
  return type.startsWith('health.') ? <strong translate={false}>{subject}</strong> : null
}

function merged(entries: readonly Entry[], changes: readonly Change[]): readonly Happening[] {
  const asked = entries
    .filter(({ outcome }) => outcome === 'ok')
    .map((entry) => ({
      key: `a${entry.seq}`,
      at: entry.at,
      type: happened(entry),
      subject: entry.target,
      who: entry.principal.kind === 'system' ? undefined : whoText(entry.principal),
    }))
  const isTold = ({ type, at }: Change): boolean =>
    asked.some((one) => one.type === type && Math.abs(Date.parse(one.at) - Date.parse(at)) < SAME_MS)
  const own = changes
    .filter((change) => !UNTOLD.includes(change.type) && !isTold(change))
    .map(({ id, at, type, subject }) => ({ key: `e${id}`, at, type, subject: subject ?? '', who: undefined }))
  return [...asked, ...own].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, SHOWN)
}
