import './core.css'
import type { AnswerOf, ItemOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { type Query, useQuery } from '../../api/use-query.ts'
import { coreOutage, hasLabCore, radioOutage, unknownSince } from '../../app/outages.tsx'
import { Panels } from '../../app/plugin-pages.tsx'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { HealthList } from '../../ui/health-list.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Card, EmptyState, Facts, Said } from '../../ui/parts.tsx'
import { clockText, Time } from '../../ui/time.tsx'

/** The states of a node, in the order of its life. */
const STATES = ['provision', 'register', 'on-air', 'peer', 'breakout'] as const
type State = (typeof STATES)[number]

/** Where a node may be told to go. Those that a radio or other boxes ask for happen by themselves too. */
const WAYS: Readonly<Record<State, readonly State[]>> = {
  provision: ['register'],
  register: ['on-air'],
  'on-air': ['register', 'peer'],
  peer: ['on-air', 'breakout'],
  breakout: [],
}
/** What an admin may force: there other boxes are asked, and never the radio alone. */
const FORCEABLE: readonly State[] = ['peer', 'breakout']

/** Where this node stands in its life, and where it may be told to go. */
function Lifecycle({ nodeId, isArmed }: { readonly nodeId: string; readonly isArmed: boolean }) {
  const nodes = useQuery(
    '/v1/nodes',
    { query: { limit: 200 } },
    { on: ['node.*', 'lifecycle.*', 'tx.*', 'peer.*'] },
  )
  const own = nodes.data?.nodes.find(({ node_id: id }) => id === nodeId)
  const [chosen, setChosen] = useState<State>()
  const now = STATES.find((state) => state === own?.lifecycle)
  return (
    <Card title={t('core.life')}>
      <ErrorNotice error={nodes.error} onRetry={nodes.reload} />
      <ol class="life">
        {STATES.map((state) => (
          <li key={state} aria-current={state === now ? 'step' : undefined}>
            <strong>{word('core.life', state)}</strong>{' '}
            <span class="fine">{word('core.life.help', state)}</span>
          </li>
        ))}
      </ol>
      {typeof own?.degraded_reason === 'string' ? (
        <p>{t('core.life.degraded', { reason: own.degraded_reason })}</p>
      ) : null}
      {now === undefined || !may('operator') ? null : (
        <div class="toolbar">
          {WAYS[now].map((to) => (
            <Button key={to} onClick={() => setChosen(to)}>
              {t('core.life.to', { state: word('core.life', to) })}
            </Button>
          ))}
          {WAYS[now].length === 0 ? <p class="fine">{t('core.life.end')}</p> : null}
        </div>
      )}
      {now === undefined || chosen === undefined ? null : (
        <Move key={chosen} from={now} to={chosen} isArmed={isArmed} onClose={() => setChosen(undefined)} />
      )}
    </Card>
  )
}

function Move({
  from,
  to,
  isArmed,
  onClose,
}: {
  readonly from: State
  readonly to: State
  readonly isArmed: boolean
  readonly onClose: () => void
}) {
  const [isForced, setForced] = useState(false)
  const isDown = STATES.indexOf(to) < STATES.indexOf(from)
  return (
    <FormDialog
      title={t('core.life.title', { state: word('core.life', to) })}
      confirm={t('core.life.confirm')}
      what={word('core.life.needs', to)}
      isDanger={isDown}
      act={() =>
        api.post('/v1/lifecycle/transition', { body: { from, to, ...(isForced ? { force: true } : {}) } })
      }
      done={(moved) => t('core.life.moved', { state: word('core.life', moved.to) })}
      onClose={onClose}
    >
      {to === 'on-air' && !isArmed ? <p>{t('core.life.unarmed')}</p> : null}
      {FORCEABLE.includes(to) && may('admin') ? (
        <Checkbox text="core.life.force" isChecked={isForced} onChange={setForced} />
      ) : null}
    </FormDialog>
  )
}

type Entry = ItemOf<'/v1/audit'>

const SHOWN = 5

/** The daemons that were restarted last, and why. The trail of who did what has them. */
function Restarts() {
  const mended = useEntries('core.restart')
  const applied = useEntries('core.config_apply')
  const error = mended.error ?? applied.error
  const isKnown = mended.data !== undefined && applied.data !== undefined
  const all = [...(mended.data?.entries ?? []), ...(applied.data?.entries ?? [])]
    .map(restartedOf)
    .filter(({ daemons }) => daemons.length > 0)
    .sort((a, b) => b.seq - a.seq)
    .slice(0, SHOWN)
  return (
    <Card title={t('core.restarts')}>
      <ErrorNotice error={error} />
      {isKnown && all.length === 0 ? <p>{t('core.restarts.none')}</p> : null}
      <ul class="plain">
        {all.map(({ seq, at, daemons, why, files }) => (
          <li key={seq}>
            <p>
              <strong translate={false}>{daemons.join(', ')}</strong>:{' '}
              {why === undefined ? t('core.restarts.files', { files: files.join(', ') }) : <Said>{why}</Said>}{' '}
              <span class="fine">
                <Time at={at} relative />
              </span>
            </p>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function useEntries(action: string): Query<{ readonly entries: readonly Entry[] }> {
  return useQuery('/v1/audit', { query: { action, limit: SHOWN } }, { on: [action] })
}

const LOOK_MS = 30_000
/** Kinds of components that make the core. */
const KINDS = ['core', 'hss', 'collector'] as const

/** The core, its daemons and databases, what a change would do, and the life of the node. */
export function Page() {
  const status = useQuery(
    '/v1/status',
    {},
    {
      on: [
        'health.*',
        'ran.*',
        'session.*',
        'sim.attached',
        'sim.detached',
        'sim.many',
        'core.*',
        'config.*',
        'node.*',
        'lifecycle.*',
      ],
      everyMs: LOOK_MS,
    },
  )
  const { data, error } = status
  return (
    <>
      <h1>{t('core.title')}</h1>
      <ErrorNotice error={error} onRetry={status.reload} />
      {data === undefined ? null : (
        <>
          <Card title={t('core.facts')}>
            <Facts
              facts={[
                [t('core.which'), data.core],
                [t('core.plmn'), data.plmn],
                [t('core.tac'), data.tac],
                [t('core.apns'), data.apns.join(', ') || '–'],
                [t('core.radio'), radioText(data)],
                [t('core.attached'), attachedText(data)],
              ]}
            />
          </Card>
          <div class="cards">
            {KINDS.map((kind) => (
              <section key={kind} class="card" aria-labelledby={`core-${kind}`}>
                <h2 id={`core-${kind}`}>{t(`core.kind.${kind}`)}</h2>
                <Parts components={data.components.filter((one) => one.kind === kind)} />
              </section>
            ))}
          </div>
          <Panels on="core" isLab={hasLabCore(data)} />
          {may('operator') ? <Restarts /> : null}
          <Lifecycle nodeId={data.node_id} isArmed={data.tx.armed} />
        </>
      )}
    </>
  )
}

type Status = AnswerOf<'GET', '/v1/status'>

/** What the core said before it was lost is not known any more. */
function unknownText({ since }: Status['incidents'][number]): string {
  return t('core.unknownSince', { time: clockText(since) })
}

function radioText({ enb, incidents }: Status): string {
  const core = coreOutage(incidents)
  if (core !== undefined) return unknownText(core)
  if (enb.other_networks.length > 0) return t('core.radio.other', { others: enb.other_networks.join(', ') })
  return t(`core.radio.${!enb.known ? 'unknown' : enb.connected ? 'yes' : 'no'}`)
}

function attachedText({ ue: { attached }, incidents }: Status): string {
  const core = coreOutage(incidents)
  if (core !== undefined) return unknownText(core)
  // A core keeps phones that have lost their radio.
  if (radioOutage(incidents) !== undefined) return t('core.attached.lost', { phones: attached ?? 0 })
  return attached === null ? t('core.untold') : String(attached)
}

function Parts({ components }: Parameters<typeof HealthList>[0]) {
  return components.length === 0 ? (
    <EmptyState title={t('core.kind.none')} />
  ) : (
    <HealthList components={components} unknownSince={unknownSince} />
  )
}

/** One time that daemons were restarted. */
interface Restarted {
  readonly seq: number
  readonly at: string
  readonly daemons: readonly string[]
  /** Why, in the service's words; undefined when it was for the files. */
  readonly why: string | undefined
  /** The files of the configuration that are other ones since. */
  readonly files: readonly string[]
}

/** What an entry of the trail says of daemons that were restarted, by a repair or for another configuration. */
export function restartedOf({
  seq,
  at,
  detail,
}: Pick<ItemOf<'/v1/audit'>, 'seq' | 'at' | 'detail'>): Restarted {
  const { daemons, restarted, reason, changed } = (detail ?? {}) as Readonly<Record<string, unknown>>
  const why = typeof reason === 'string' ? reason : undefined
  return { seq, at, daemons: textsOf(daemons ?? restarted), why, files: textsOf(changed) }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
