import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'

/** The states of a node, in the order of its life. */
const STATES = ['provision', 'register', 'on-air', 'peer', 'breakout'] as const
type State = (typeof STATES)[number]

/** Where a node may be told to go. Those that a radio or a mesh asks for happen by themselves too. */
const WAYS: Readonly<Record<State, readonly State[]>> = {
  provision: ['register'],
  register: ['on-air'],
  'on-air': ['register', 'peer'],
  peer: ['on-air', 'breakout'],
  breakout: [],
}
/** What an admin may force: there the mesh is asked for, and never the radio alone. */
const FORCEABLE: readonly State[] = ['peer', 'breakout']

/** Where this node stands in its life, and where it may be told to go. */
export function Lifecycle({ nodeId, isArmed }: { readonly nodeId: string; readonly isArmed: boolean }) {
  const nodes = useQuery(
    '/v1/nodes',
    { query: { limit: 200 } },
    { on: ['node.*', 'lifecycle.*', 'tx.*', 'mesh.*'] },
  )
  const own = nodes.data?.nodes.find(({ node_id: id }) => id === nodeId)
  const [chosen, setChosen] = useState<State | undefined>(undefined)
  const now = STATES.find((state) => state === own?.lifecycle)
  return (
    <section class="card" aria-labelledby="core-life">
      <h2 id="core-life">{t('core.life')}</h2>
      {nodes.error === undefined ? null : <ErrorNotice error={nodes.error} onRetry={nodes.reload} />}
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
    </section>
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
  const move = useAction(() =>
    api.post('/v1/lifecycle/transition', { body: { from, to, ...(isForced ? { force: true } : {}) } }),
  )
  const confirm = async (): Promise<void> => {
    const result = await move.run()
    if (result?.ok !== true) return
    toast({ text: t('core.life.moved', { state: word('core.life', result.data.to) }) })
    onClose()
  }
  const isDown = STATES.indexOf(to) < STATES.indexOf(from)
  return (
    <ConfirmDialog
      isOpen
      title={t('core.life.title', { state: word('core.life', to) })}
      confirm={t('core.life.confirm')}
      isDanger={isDown}
      isBusy={move.isBusy}
      error={move.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{word('core.life.needs', to)}</p>
      {to === 'on-air' && !isArmed ? <p>{t('core.life.unarmed')}</p> : null}
      {FORCEABLE.includes(to) && may('admin') ? (
        <Checkbox
          label={t('core.life.force')}
          help={t('core.life.force.help')}
          isChecked={isForced}
          onChange={setForced}
        />
      ) : null}
    </ConfirmDialog>
  )
}
