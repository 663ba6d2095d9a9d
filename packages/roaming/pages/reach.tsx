import {
  type AnswerOf,
  api,
  Button,
  Card,
  choices,
  ErrorNotice,
  FormDialog,
  Lamp,
  may,
  Select,
  type Sim,
  type Tone,
  t,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'
import { type Boxes, Choice, MOST, REACHES } from './choice.tsx'

type Reach = AnswerOf<'GET', '/v1/sims/{imsi}/reach'>

const LOOK_MS = 15_000

/** Where a SIM works besides this box. Nothing of a box without others. */
export function Panel({ sim }: { readonly sim: Sim }) {
  const events = { on: ['roaming.*', 'sim.reach', 'sim.*'], everyMs: LOOK_MS }
  const read = useQuery('/v1/sims/{imsi}/reach', { path: { imsi: sim.imsi_sha256_12 } }, events)
  const others = useQuery('/v1/roaming/boxes', { query: { limit: MOST } }, events)
  const [open, setOpen] = useState<'reach' | 'permit'>()
  const { data: reach, error } = read
  const boxes = others.data?.boxes ?? []
  if (reach === undefined || (boxes.length === 0 && reach.reach === 'home' && error === undefined))
    return null
  const close = (): void => setOpen(undefined)
  return (
    <Card title={t('reach.title')}>
      <ErrorNotice error={error} onRetry={read.reload} />
      <p class="sentence">{word('reach.is', reach.reach)}</p>
      <BoxList reach={reach} />
      <div class="toolbar">
        {may('operator') && sim.state !== 'revoked' ? (
          <Button onClick={() => setOpen('reach')}>{t('reach.change')}</Button>
        ) : null}
        {may('admin') && boxes.length > 0 ? (
          <Button onClick={() => setOpen('permit')}>{t('reach.permit')}</Button>
        ) : null}
      </div>
      {open === 'reach' ? (
        <ReachDialog sim={sim} reach={reach} boxes={boxes} onClose={close} onDone={read.reload} />
      ) : null}
      {open === 'permit' ? <PermitDialog boxes={boxes} onClose={close} onDone={others.reload} /> : null}
    </Card>
  )
}

const TONES: Readonly<Record<string, Tone>> = { open: 'ok', not_permitted: 'warn', none: 'warn' }

function BoxList({ reach }: { readonly reach: Reach }) {
  return (
    <ul class="home-list">
      {reach.boxes.map(({ node_id, name, state, is_told, problem }) => {
        const isWaiting = !is_told && state !== 'not_permitted' && state !== 'none'
        return (
          <li key={node_id}>
            <Lamp tone={isWaiting ? 'warn' : (TONES[state] ?? 'none')} label={name ?? node_id} />
            <span class="words fine">
              {problem ?? (isWaiting ? t('reach.waiting') : word('reach.state', state))}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

interface DialogProps {
  readonly boxes: Boxes
  readonly onClose: () => void
  readonly onDone: () => void
}

function ReachDialog({
  sim,
  reach,
  boxes,
  onClose,
  onDone,
}: DialogProps & { readonly sim: Sim; readonly reach: Reach }) {
  const [wanted, setWanted] = useState<string>(reach.reach)
  const [named, setNamed] = useState<ReadonlySet<string>>(
    new Set(reach.reach === 'boxes' ? reach.boxes.map(({ node_id }) => node_id) : []),
  )
  const body = {
    reach: REACHES.find((one) => one === wanted) ?? 'home',
    ...(wanted === 'boxes' ? { boxes: [...named] } : {}),
  }
  return (
    <FormDialog
      title={t('reach.change')}
      confirm={t('reach.apply')}
      what={t('reach.what')}
      isDisabled={wanted === 'boxes' && named.size === 0}
      act={() => api.put('/v1/sims/{imsi}/reach', { path: { imsi: sim.imsi_sha256_12 }, body })}
      done={() => t('reach.changed')}
      onDone={onDone}
      onClose={onClose}
    >
      <Select text="reach.title" value={wanted} onChange={setWanted} options={choices('reach.is', REACHES)} />
      {wanted === 'boxes' ? <Choice boxes={boxes} chosen={named} onChosen={setNamed} /> : null}
    </FormDialog>
  )
}

function PermitDialog({ boxes, onClose, onDone }: DialogProps) {
  const before = new Set(boxes.filter(({ permitted }) => permitted).map(({ node_id }) => node_id))
  const [chosen, setChosen] = useState<ReadonlySet<string>>(before)
  const changed = boxes.filter(({ node_id }) => chosen.has(node_id) !== before.has(node_id))
  return (
    <FormDialog
      text="reach.permit"
      confirm={t('reach.apply')}
      isDisabled={changed.length === 0}
      act={async () => {
        let answer = await permit(changed[0]?.node_id ?? '', chosen)
        for (const { node_id } of changed.slice(1)) answer = await permit(node_id, chosen)
        return answer
      }}
      done={() => t('reach.changed')}
      onDone={onDone}
      onClose={onClose}
    >
      <Choice boxes={boxes} chosen={chosen} onChosen={setChosen} />
    </FormDialog>
  )
}

function permit(id: string, chosen: ReadonlySet<string>) {
  return api.put('/v1/roaming/boxes/{id}', { path: { id }, body: { permitted: chosen.has(id) } })
}
