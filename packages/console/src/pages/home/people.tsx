import type { AnswerOf } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { listen } from '../../api/changes.ts'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { ifPage } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { locale, t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Bytes } from '../../ui/bytes.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { toast } from '../../ui/toast.tsx'
import { cutText, timed, WAIT } from '../subscriber/cut.ts'

const RELABELLED = ['sim.label', 'sim.bulk', 'sim.import']

/** Labels of a few SIMs by their hashes, read once and after they may have changed; those without one are not among them. */
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
  return label === null || label === '' ? [] : [[hash, label]]
}

type Session = AnswerOf<'GET', '/v1/sessions'>['sessions'][number]

/** Octets grow without an event, as often as a box counts them. */
const LOOK_MS = 15_000
/** The largest page of a list; beyond it a number is said as "more than". */
const PAGE = 500
const TALKERS = 5
/** What suspends somebody, or lets them on again. */
const SUSPENDING = [
  ...['sim.suspend', 'sim.resume', 'sim.revoke', 'sim.expire', 'sim.unexpire', 'sim.bulk', 'sim.label'],
]

/** What somebody has moved since their sessions began. */
interface Talker {
  readonly hash: string
  readonly bytes: number
}

/** Who is on, who is off and why, and who moves most. */
export function People() {
  const sessions = useQuery(
    '/v1/sessions',
    { query: { limit: PAGE } },
    { on: ['session.*'], everyMs: LOOK_MS },
  )
  const suspended = useQuery('/v1/sims', { query: { state: 'suspended', limit: PAGE } }, { on: SUSPENDING })
  const talkers = talkersOf(sessions.data?.sessions ?? [])
  const most = talkers.slice(0, TALKERS)
  const labels = useLabels(most.map(({ hash }) => hash))
  const off = suspended.data?.sims ?? []
  const isMore = (next: string | null | undefined): boolean => next !== null && next !== undefined
  return (
    <section class="card" aria-labelledby="people">
      <h2 id="people">{t('home.people')}</h2>
      {sessions.error === undefined ? null : <ErrorNotice error={sessions.error} />}
      <dl class="home-figures">
        <Figure
          name={t('home.online')}
          count={talkers.length}
          isMore={isMore(sessions.data?.next_cursor)}
          href="/sessions"
        />
        <Figure
          name={t('home.suspended')}
          count={off.length}
          isMore={isMore(suspended.data?.next_cursor)}
          href="/sims?state=suspended"
        />
        <Panels on="overview.people" suspended={off} />
      </dl>
      {talkers.length === 0 ? (
        <p>{t('home.nobody')}</p>
      ) : (
        <>
          <h3 class="fine">{t('home.talkers')}</h3>
          <ol class="home-list">
            {most.map((talker) => (
              <TalkerLine key={talker.hash} talker={talker} label={labels.get(talker.hash)} />
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

function Figure({
  name,
  count,
  isMore = false,
  href = '',
}: {
  readonly name: string
  readonly count: number
  readonly isMore?: boolean
  readonly href?: string
}) {
  const [path = ''] = href.split('?')
  const text = `${isMore ? '> ' : ''}${count.toLocaleString(locale())}`
  return (
    <div>
      <dt>{ifPage(path) === undefined || path === '' ? name : <a href={href}>{name}</a>}</dt>
      <dd>{text}</dd>
    </div>
  )
}

function TalkerLine({
  talker: { hash, bytes },
  label,
}: {
  readonly talker: Talker
  readonly label: string | undefined
}) {
  const resume = useAction(() => api.post('/v1/sims/{imsi}/resume', { path: { imsi: hash }, body: {} }))
  const suspend = useAction(() =>
    timed(() =>
      api.post('/v1/sims/{imsi}/suspend', { path: { imsi: hash }, query: { wait: WAIT }, body: {} }),
    ),
  )
  const off = async (): Promise<void> => {
    const result = await suspend.run()
    if (result?.ok !== true) return
    const text = cutText('sim.suspended', label ?? hash, result.data)
    toast({ text, undo: () => void resume.run() })
  }
  const error = suspend.error ?? resume.error
  return (
    <li class="talker">
      <span class="words">
        <SubscriberName hash={hash} label={label ?? null} />{' '}
        {label === undefined ? null : <code class="fine">{hash}</code>}
      </span>
      <Bytes value={bytes} />
      {may('operator') ? (
        <Button
          kind="quiet"
          isBusy={suspend.isBusy}
          label={t('home.suspendOne', { hash })}
          onClick={() => void off()}
        >
          {t('home.suspend')}
        </Button>
      ) : null}
      {error === undefined ? null : <ErrorNotice error={error} />}
    </li>
  )
}

/** Everybody with a session that goes on, who moved most first. */
function talkersOf(sessions: readonly Session[]): readonly Talker[] {
  const sums = new Map<string, number>()
  for (const { imsi_sha256_12: hash, up_bytes, down_bytes } of sessions)
    sums.set(hash, (sums.get(hash) ?? 0) + up_bytes + down_bytes)
  return [...sums]
    .map(([hash, bytes]) => ({ hash, bytes }))
    .sort((a, b) => b.bytes - a.bytes || (a.hash < b.hash ? -1 : 1))
}
