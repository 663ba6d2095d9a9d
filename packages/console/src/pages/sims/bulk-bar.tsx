import type { AnswerOf, Problem } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may, type Role } from '../../api/session.ts'
import { locale, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Said } from '../../ui/said.tsx'
import { durationText } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { follow, isCoreAway } from '../subscriber/follow.ts'
import { nameOf, pageOf, type Sim, STATES } from './sim.tsx'

/** What can be done with many SIMs at once. */
type BulkAction = 'suspend' | 'resume' | 'label' | 'revoke'

/** All of it, with the role that each needs. */
const BULK_ACTIONS: readonly { readonly name: BulkAction; readonly role: Role }[] = [
  { name: 'suspend', role: 'operator' },
  { name: 'resume', role: 'operator' },
  { name: 'label', role: 'sim:issuer' },
  { name: 'revoke', role: 'sim:admin' },
]

/** What became of one SIM. */
type BulkResult = AnswerOf<'POST', '/v1/sims/bulk'>['results'][number]

/** Phones that were online, how many of them are off, and after how long. */
interface Cut {
  readonly on: number
  readonly off: number
  readonly tookMs: number
}

/** How far it is: results come in parts, and what has not been asked for is still to be done. */
interface BulkProgress {
  readonly results: readonly BulkResult[]
  readonly left: readonly string[]
  /** What became of those that were online; undefined where nobody is cut off, or nothing waited for that. */
  readonly cut: Cut | undefined
  /** Whether the core could not be reached when it was asked for. */
  readonly isAway: boolean
  /** Why it did not go on. */
  readonly error: Problem | undefined
}

/** SIMs that can be chosen together. */
const MOST = 10_000
/** SIMs of one request: each is one transaction, and what is done stays done. */
const PART = 1_000
/** How long the answer waits for phones to be off: of one request alone, since several would wait one after the other. */
const WAIT = '5s'
const CUTTING: readonly BulkAction[] = ['suspend', 'revoke']

/** Changes SIMs, part by part. `label` and `override` go with their actions alone. */
async function runBulk(
  action: BulkAction,
  ids: readonly string[],
  more: { readonly label?: string | null; readonly reason?: string },
  tell: (progress: BulkProgress) => void,
): Promise<BulkProgress> {
  const isAway = action !== 'label' && (await isCoreAway())
  let progress: BulkProgress = { results: [], left: ids, cut: undefined, isAway, error: undefined }
  // One alone is followed; nothing comes of waiting for a core that is away.
  const isWaited = ids.length > 1 && ids.length <= PART && CUTTING.includes(action) && !isAway
  const query = isWaited ? { wait: WAIT } : {}
  while (progress.left.length > 0) {
    const part = progress.left.slice(0, PART)
    const from = performance.now()
    const answer = await api.post('/v1/sims/bulk', {
      query,
      body: { action, ids: part, ...more },
      timeoutMs: 120_000,
    })
    if (!answer.ok) {
      progress = { ...progress, error: answer.error }
      break
    }
    const { attached: on, detached: off } = answer.data
    progress = {
      isAway,
      results: [...progress.results, ...answer.data.results],
      cut: off === null || on === 0 ? undefined : { on, off, tookMs: performance.now() - from },
      left: progress.left.slice(PART),
      error: undefined,
    }
    tell(progress)
  }
  tell(progress)
  return progress
}

/** The SIMs that were really changed: what an undo is about. */
function changedOf({ results }: Pick<BulkProgress, 'results'>): readonly string[] {
  return results.filter(({ status }) => status === 'changed').map(({ imsi_sha256_12: hash }) => hash)
}

/** Says what will be done to which SIMs and what follows, does it, and says of each what became of it. */
function BulkDialog({
  action,
  ids,
  rows,
  onClose,
}: {
  readonly action: BulkAction
  readonly ids: readonly string[]
  readonly rows: readonly Sim[]
  /** Whether all of it was done. */
  readonly onClose: (isDone: boolean) => void
}) {
  const [progress, setProgress] = useState<BulkProgress | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const [text, setText] = useState('')
  const [isSure, setSure] = useState(false)
  const run = async (which: readonly string[]): Promise<void> => {
    setBusy(true)
    const earlier = progress?.results ?? []
    const more =
      action === 'label' ? { label: text === '' ? null : text } : text === '' ? {} : { reason: text }
    const end = await runBulk(action, which, more, (now) =>
      setProgress({ ...now, results: [...earlier, ...now.results] }),
    )
    setBusy(false)
    const whole = { ...end, results: [...earlier, ...end.results] }
    if (end.error === undefined && whole.results.every(({ status }) => status !== 'error')) {
      tellDone(action, whole, rows)
      onClose(true)
    }
  }
  const title = t(`sims.bulk.${action}.title`, { count: ids.length })
  if (progress !== undefined)
    return (
      <Dialog isOpen title={title} onClose={() => onClose(true)} isFirm={isBusy}>
        <Results progress={progress} rows={rows} total={ids.length} />
        <div class="actions">
          {progress.error === undefined || isBusy ? null : (
            <Button kind="primary" onClick={() => void run(progress.left)}>
              {t('sims.bulk.goOn', { count: progress.left.length })}
            </Button>
          )}
          <UndoButton action={action} progress={progress} isBusy={isBusy} onDone={() => onClose(true)} />
          <Button onClick={() => onClose(true)} isDisabled={isBusy}>
            {t('ui.close')}
          </Button>
        </div>
      </Dialog>
    )
  return (
    <Dialog isOpen title={title} onClose={() => onClose(false)}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void run(ids)
        }}
      >
        <Affected ids={ids} rows={rows} />
        {isBusy ? <Progress label={t('sim.step.asked')} /> : null}
        <p>{t(`sims.bulk.${action}.what`)}</p>
        <Field
          label={t(action === 'label' ? 'sims.label' : 'sims.reason')}
          help={t(action === 'label' ? 'sims.bulk.label.help' : 'sims.reason.help')}
          value={text}
          maxLength={action === 'label' ? 64 : 256}
          onInput={setText}
        />
        {action !== 'revoke' ? null : (
          <Checkbox label={t('sims.bulk.revoke.sure')} isChecked={isSure} onChange={setSure} />
        )}
        <div class="actions">
          <Button onClick={() => onClose(false)}>{t('ui.cancel')}</Button>
          <Button
            type="submit"
            kind={action === 'revoke' ? 'danger' : 'primary'}
            isBusy={isBusy}
            isDisabled={action === 'revoke' && !isSure}
          >
            {t(`sims.bulk.${action}`)}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Which SIMs it is about, by their states. */
function Affected({ ids, rows }: { readonly ids: readonly string[]; readonly rows: readonly Sim[] }) {
  const chosen = new Set(ids)
  const own = rows.filter((sim) => chosen.has(sim.imsi_sha256_12))
  const counts = STATES.map((state) => [state, own.filter((sim) => sim.state === state).length] as const)
  const online = own.filter(({ attached }) => attached === true).length
  return (
    <p>
      {counts
        .filter(([, count]) => count > 0)
        .map(([state, count]) => `${count.toLocaleString(locale())} ${word('sims.state', state)}`)
        .join(', ')}
      {online === 0 ? '' : `; ${t('sims.bulk.online', { count: online })}`}
    </p>
  )
}

function Results({
  progress: { results, cut, error, left },
  rows,
  total,
}: {
  readonly progress: BulkProgress
  readonly rows: readonly Sim[]
  readonly total: number
}) {
  const failed = results.filter(({ status }) => status === 'error')
  const names = new Map(rows.map((sim) => [sim.imsi_sha256_12, nameOf(sim)]))
  const count = (status: string): number => results.filter((result) => result.status === status).length
  return (
    <>
      {left.length === 0 ? null : <Progress label={t('sims.bulk')} value={results.length} max={total} />}
      <p aria-live="polite">
        {t('sims.bulk.result', {
          changed: count('changed'),
          unchanged: count('unchanged'),
          failed: failed.length,
        })}
      </p>
      {cut === undefined ? null : <p>{cutText(cut)}</p>}
      {error === undefined ? null : <ErrorNotice error={error} />}
      {failed.length === 0 ? null : (
        <>
          <Notice tone="warn">{t('sims.bulk.failed')}</Notice>
          <DataTable
            label={t('sims.bulk.failed')}
            rows={failed}
            keyOf={(row: BulkResult) => row.imsi_sha256_12}
            columns={[
              {
                key: 'name',
                title: t('sims.name'),
                cell: ({ imsi_sha256_12: hash }) => <a href={pageOf(hash)}>{names.get(hash) ?? hash}</a>,
              },
              { key: 'why', title: t('sims.why'), cell: (row) => <Said>{row.error?.message}</Said> },
            ]}
          />
        </>
      )}
    </>
  )
}

const OPPOSITES: Readonly<Partial<Record<BulkAction, BulkAction>>> = { suspend: 'resume', resume: 'suspend' }

function UndoButton({
  action,
  progress,
  isBusy,
  onDone,
}: {
  readonly action: BulkAction
  readonly progress: BulkProgress
  readonly isBusy: boolean
  readonly onDone: () => void
}) {
  if (OPPOSITES[action] === undefined || changedOf(progress).length === 0) return null
  const undo = async (): Promise<void> => {
    await undone(action, changedOf(progress))
    onDone()
  }
  return (
    <Button isDisabled={isBusy} onClick={() => void undo()}>
      {t('ui.undo')}
    </Button>
  )
}

function tellDone(action: BulkAction, progress: BulkProgress, rows: readonly Sim[]): void {
  const changed = changedOf(progress)
  const canUndo = OPPOSITES[action] !== undefined && changed.length > 0
  const undo = (): void => void undone(action, changed)
  const [first] = changed
  if (action !== 'label' && first !== undefined && changed.length === 1) {
    const sim = rows.find(({ imsi_sha256_12: hash }) => hash === first)
    follow(action, first, sim === undefined ? first : nameOf(sim), canUndo ? undo : undefined)
    return
  }
  const done = t(`sims.bulk.${action}.done`, { count: changed.length })
  const further = progress.isAway
    ? t('sim.step.away')
    : progress.cut === undefined
      ? ''
      : cutText(progress.cut)
  toast({
    text: `${done} ${further}`.trim(),
    tone: progress.isAway ? 'warn' : 'ok',
    ...(canUndo ? { undo } : {}),
  })
}

/** Whether the phones that were online are off. */
function cutText({ on, off, tookMs }: Cut): string {
  const values = { on, off, time: durationText(tookMs) }
  return t(on === off ? 'sims.bulk.off.all' : 'sims.bulk.off.some', values)
}

/** Does the opposite to exactly the SIMs that were changed. */
async function undone(action: BulkAction, ids: readonly string[]): Promise<void> {
  const opposite = OPPOSITES[action]
  if (opposite === undefined) return
  const end = await runBulk(opposite, ids, {}, () => undefined)
  if (end.error !== undefined) toast({ text: end.error.message, tone: 'bad' })
  else toast({ text: t(`sims.bulk.${opposite}.done`, { count: changedOf(end).length }) })
}

/** How many would be chosen, before they are. */
function allText(total: number | undefined): string {
  if (total === undefined) return t('sims.bulk.all')
  return total > MOST ? t('sims.bulk.most', { most: MOST, total }) : t('sims.bulk.allOf', { total })
}

/** What can be done with the chosen SIMs; it is there when some are, or could be by a filter. */
export function BulkBar({
  rows,
  total,
  isFiltered,
  isMore,
  loadAll,
  selected,
  onSelect,
}: {
  readonly rows: readonly Sim[]
  /** SIMs that the filter means; undefined where nobody counts them. */
  readonly total: number | undefined
  readonly isFiltered: boolean
  readonly isMore: boolean
  readonly loadAll: (most: number) => Promise<readonly Sim[] | undefined>
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}) {
  const [action, setAction] = useState<BulkAction | undefined>(undefined)
  const [isLoading, setLoading] = useState(false)
  const isNone = selected.size === 0
  if (isNone && (!isFiltered || rows.length === 0 || !BULK_ACTIONS.some(({ role }) => may(role)))) return null
  const isWhole = !isMore && selected.size >= rows.length
  const selectAll = async (): Promise<void> => {
    setLoading(true)
    const all = await loadAll(MOST)
    setLoading(false)
    if (all !== undefined) onSelect(new Set(all.map((sim) => sim.imsi_sha256_12)))
  }
  return (
    <section class="toolbar bulk" aria-label={t('sims.bulk')}>
      <strong aria-live="polite">{t('ui.selected', { count: selected.size })}</strong>
      {isWhole ? null : (
        <Button kind="quiet" isBusy={isLoading} onClick={() => void selectAll()}>
          {allText(isMore ? total : rows.length)}
        </Button>
      )}
      {isNone ? null : (
        <Button kind="quiet" onClick={() => onSelect(new Set())}>
          {t('sims.bulk.clear')}
        </Button>
      )}
      {BULK_ACTIONS.filter(({ role }) => !isNone && may(role)).map(({ name }) => (
        <Button key={name} onClick={() => setAction(name)}>
          {t(`sims.bulk.${name}`)}
        </Button>
      ))}
      {action === undefined ? null : (
        <BulkDialog
          action={action}
          ids={[...selected]}
          rows={rows}
          onClose={(isDone) => {
            setAction(undefined)
            if (isDone) onSelect(new Set())
          }}
        />
      )}
    </section>
  )
}
