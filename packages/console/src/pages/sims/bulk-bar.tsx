import type { Result } from '@steeple/client'
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { saveFile } from '../../api/download.ts'
import { may } from '../../api/session.ts'
import { usePanels } from '../../app/plugin-pages.tsx'
import { locale, t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Progress, Said } from '../../ui/parts.tsx'
import { durationText } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'
import { follow, isCoreAway } from '../subscriber/follow.ts'
import {
  type AskBulk,
  BULK_ACTIONS,
  type BulkAction,
  type BulkAnswer,
  type BulkChange,
  type BulkFilter,
  type BulkProgress,
  type BulkResult,
  type Cut,
  changedOf,
  lookAhead,
  type Meant,
  meantBy,
  oppositeOf,
  resultsCsv,
  runBulk,
} from './bulk-run.ts'
import { HandoutButton, MOST_PRINTED } from './handout.tsx'
import { nameOf, pageOf, type Sim, stateText } from './sim.tsx'

const askBulk: AskBulk = (body, wait) =>
  api.post('/v1/sims/bulk', { query: wait === undefined ? {} : { wait }, body, timeoutMs: 120_000 })

/** What is typed is looked at after so long. */
const TYPING_MS = 250
const DAY_MS = 86_400_000

/** What would be done, as soon as it is known what; undefined while it is looked at. */
function useOutlook(change: BulkChange | undefined, meant: Meant): Result<BulkAnswer> | undefined {
  const [outlook, setOutlook] = useState<Result<BulkAnswer>>()
  const { reason: _, ...asked } = change ?? {}
  useEffect(() => {
    setOutlook(undefined)
    if (change === undefined) return undefined
    let isOver = false
    const timer = setTimeout(async () => {
      const answer = await lookAhead(askBulk, change, meant)
      if (!isOver) setOutlook(answer)
    }, TYPING_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [JSON.stringify(asked)])
  return outlook
}

/** The change that the dialog's field makes; undefined while it lacks something. */
function changeOf(action: BulkAction, text: string): BulkChange | undefined {
  if (action === 'label') return { action, label: text === '' ? null : text }
  if (action !== 'extend') return text === '' ? { action } : { action, reason: text }
  // To the end of that day here.
  const end = new Date(`${text}T23:59:59`)
  return Number.isNaN(end.getTime()) ? undefined : { action, expires_at: end.toISOString() }
}

/** Says what will be done to which SIMs and what follows, does it, and says of each what became of it. */
function BulkDialog({
  action,
  meant,
  count,
  rows,
  onClose,
}: {
  readonly action: BulkAction
  readonly meant: Meant
  /** SIMs that are meant. */
  readonly count: number
  readonly rows: readonly Sim[]
  /** Whether all of it was done. */
  readonly onClose: (isDone: boolean) => void
}) {
  const [progress, setProgress] = useState<BulkProgress>()
  const [isBusy, setBusy] = useState(false)
  const [text, setText] = useState('')
  const change = changeOf(action, text)
  const outlook = useOutlook(change, meant)
  const total = outlook?.ok === true ? outlook.data.matched : count
  const run = async (which: Meant): Promise<undefined> => {
    if (change === undefined) return
    setBusy(true)
    const earlier = progress?.results ?? []
    const isAway = oppositeOf(action) !== undefined || action === 'revoke' ? await isCoreAway() : false
    const end = await runBulk(askBulk, change, which, { count: total, isAway }, (now) =>
      setProgress({ ...now, results: [...earlier, ...now.results] }),
    )
    setBusy(false)
    const whole = { ...end, results: [...earlier, ...end.results] }
    // Of all that a filter means, what became of each stays to be looked at and saved.
    if (
      'ids' in meant &&
      end.error === undefined &&
      whole.results.every(({ status }) => status !== 'error')
    ) {
      tellDone(action, whole, rows)
      onClose(true)
    }
  }
  const title = t(`sims.bulk.${action}.title`, { count: total })
  if (progress !== undefined)
    return (
      <Dialog isOpen title={title} onClose={() => onClose(true)} isFirm={isBusy}>
        <Results progress={progress} rows={rows} total={total} />
        <div class="actions">
          {progress.left === undefined || isBusy ? null : (
            <Button kind="primary" onClick={() => void run(progress.left ?? meant)}>
              {t('sims.bulk.goOn', { count: Math.max(total - progress.results.length, 1) })}
            </Button>
          )}
          <Button
            isDisabled={isBusy || progress.results.length === 0}
            onClick={() =>
              saveFile(`sims-${action}.csv`, resultsCsv(progress.results, labelsOf(rows)), 'text/csv')
            }
          >
            {t('sims.bulk.save')}
          </Button>
          <UndoButton action={action} progress={progress} isBusy={isBusy} onDone={() => onClose(true)} />
          <Button onClick={() => onClose(true)} isDisabled={isBusy}>
            {t('ui.close')}
          </Button>
        </div>
      </Dialog>
    )
  return (
    <Dialog isOpen title={title} onClose={() => onClose(false)}>
      <BulkForm
        action={action}
        outlook={outlook}
        text={text}
        onText={setText}
        isBusy={isBusy}
        act={() => run(meant)}
        onCancel={() => onClose(false)}
      />
    </Dialog>
  )
}

function BulkForm({
  action,
  outlook,
  text,
  onText,
  isBusy,
  act,
  onCancel,
}: {
  readonly action: BulkAction
  readonly outlook: Result<BulkAnswer> | undefined
  readonly text: string
  readonly onText: (text: string) => void
  readonly isBusy: boolean
  readonly act: () => Promise<undefined>
  readonly onCancel: () => void
}) {
  const [isSure, setSure] = useState(action !== 'revoke')
  const isNothing = outlook?.ok === true && outlook.data.changed === 0
  return (
    <Form
      submit={t(action === 'label' ? 'sims.label.go' : `sims.bulk.${action}`)}
      kind={action === 'revoke' ? 'danger' : 'primary'}
      isDisabled={!isSure || isNothing}
      error={outlook?.ok === false ? outlook.error : undefined}
      act={act}
      onCancel={onCancel}
    >
      {outlook?.ok === true ? <Outlook outlook={outlook.data} /> : null}
      {isBusy ? <Progress label={t('sim.step.asked')} /> : null}
      <p>{t(`sims.bulk.${action}.what`)}</p>
      {action === 'extend' ? (
        <Field
          type="date"
          text="sims.bulk.until"
          value={text}
          min={new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)}
          isRequired
          onInput={onText}
        />
      ) : (
        <Field
          label={t(action === 'label' ? 'sims.label' : 'sims.reason')}
          help={t(action === 'label' ? 'sims.bulk.label.help' : 'sims.reason.help')}
          value={text}
          maxLength={action === 'label' ? 64 : 256}
          onInput={onText}
        />
      )}
      {action === 'revoke' ? (
        <Checkbox text="sims.bulk.revoke.sure" isChecked={isSure} onChange={setSure} />
      ) : null}
    </Form>
  )
}

/** How many will be changed, and which will not. */
function Outlook({ outlook: { changed, attached, kinds } }: { readonly outlook: BulkAnswer }) {
  const said = (status: string): string =>
    kinds
      .filter((kind) => kind.status === status)
      .map(({ state, suspend_reason: reason, sims }) => {
        const what = state === null ? t('sims.bulk.gone') : stateText({ state, suspend_reason: reason })
        return `${sims.toLocaleString(locale())} ${what}`
      })
      .join(', ')
  const [same, out] = [said('unchanged'), said('error')]
  return (
    <ul>
      <li>
        {t('sims.bulk.changes', { count: changed })}
        {changed === 0 ? '' : ` (${said('changed')})`}
        {attached === 0 ? '' : `; ${t('sims.bulk.online', { count: attached })}`}
      </li>
      {same === '' ? null : <li>{t('sims.bulk.same', { what: same })}</li>}
      {out === '' ? null : <li>{t('sims.bulk.leftOut', { what: out })}</li>}
    </ul>
  )
}

function labelsOf(rows: readonly Sim[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ imsi_sha256_12: hash, label }) => [hash, label ?? '']))
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
      {left === undefined ? null : <Progress label={t('sims.bulk')} value={results.length} max={total} />}
      <p aria-live="polite">
        {t('sims.bulk.result', {
          changed: count('changed'),
          unchanged: count('unchanged'),
          failed: failed.length,
        })}
      </p>
      {cut === undefined ? null : <p>{cutText(cut)}</p>}
      <ErrorNotice error={error} />
      {failed.length === 0 ? null : (
        <>
          <Notice tone="warn">{t('sims.bulk.failed')}</Notice>
          <DataTable
            label={t('sims.bulk.failed')}
            rows={failed}
            keyOf={(row: BulkResult) => row.imsi_sha256_12}
            columns={[
              {
                text: 'sims.name',
                cell: ({ imsi_sha256_12: hash }) => <a href={pageOf(hash)}>{names.get(hash) ?? hash}</a>,
              },
              { text: 'sims.why', cell: (row) => <Said>{row.error?.message}</Said> },
            ]}
          />
        </>
      )}
    </>
  )
}

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
  if (oppositeOf(action) === undefined || changedOf(progress).length === 0) return null
  const undo = async (): Promise<void> => {
    await undone(action, changedOf(progress))
    onDone()
  }
  return (
    <Button icon="undo-2" isDisabled={isBusy} onClick={() => void undo()}>
      {t('ui.undo')}
    </Button>
  )
}

function tellDone(action: BulkAction, progress: BulkProgress, rows: readonly Sim[]): void {
  const changed = changedOf(progress)
  const canUndo = oppositeOf(action) !== undefined && changed.length > 0
  const undo = (): void => void undone(action, changed)
  const [first] = changed
  if (action !== 'label' && action !== 'extend' && first !== undefined && changed.length === 1) {
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
  const opposite = oppositeOf(action)
  if (opposite === undefined) return
  const how = { count: ids.length, isAway: await isCoreAway() }
  const end = await runBulk(askBulk, { action: opposite }, { ids }, how)
  if (end.error !== undefined) toast({ text: end.error.message, tone: 'bad' })
  else toast({ text: t(`sims.bulk.${opposite}.done`, { count: changedOf(end).length }) })
}

/** Which SIMs are chosen. */
export interface Choice {
  /** Hashes of rows that are ticked. */
  readonly selected: ReadonlySet<string>
  /** Whether it is all that the list shows, and all that is behind it. */
  readonly isAll: boolean
}

export const NO_CHOICE: Choice = { selected: new Set(), isAll: false }

/** How many would be chosen, before they are. */
function allText(total: number | undefined): string {
  return total === undefined ? t('sims.bulk.all') : t('sims.bulk.allOf', { total })
}

function meantOf(filter: BulkFilter | undefined, { selected, isAll }: Choice): Meant {
  return isAll && filter !== undefined ? meantBy(filter) : { ids: [...selected] }
}

/** Whether all can be chosen at once before anything is: only what was narrowed down. */
function isOffered(filter: BulkFilter | undefined): boolean {
  const isFiltered = filter === undefined || Object.keys(filter).length > 0
  return isFiltered && BULK_ACTIONS.some(({ role }) => may(role))
}

function Actions({
  onClear,
  onAction,
}: {
  readonly onClear: () => void
  readonly onAction: (action: BulkAction) => void
}) {
  return (
    <>
      <Button kind="quiet" onClick={onClear}>
        {t('sims.bulk.clear')}
      </Button>
      {BULK_ACTIONS.filter(({ role }) => may(role)).map(({ name }) => (
        <Button key={name} onClick={() => onAction(name)}>
          {t(`sims.bulk.${name}`)}
        </Button>
      ))}
    </>
  )
}

interface Ticked {
  readonly sims: readonly Sim[]
  readonly onDone: () => void
}

/** What is done with SIMs that are ticked one by one. */
function OfTicked({
  panels,
  ...ticked
}: Ticked & { readonly panels: readonly { readonly Panel: ComponentType<Ticked> }[] | undefined }) {
  const { sims } = ticked
  const hashes = sims.map(({ imsi_sha256_12: hash }) => hash)
  if (hashes.length === 0) return null
  return (
    <>
      {may('sim:issuer') && hashes.length <= MOST_PRINTED ? (
        <HandoutButton of={{ sims: hashes.join(',') }} />
      ) : null}
      {panels?.map(({ Panel }, index) => (
        <Panel key={String(index)} {...ticked} />
      ))}
    </>
  )
}

/** What can be done with the chosen SIMs; it is there when some are, or could be by a filter. */
export function BulkBar({
  rows,
  total,
  filter,
  isMore,
  choice: { selected, isAll },
  onChoose,
}: {
  readonly rows: readonly Sim[]
  /** SIMs that the filter means; undefined where nobody counts them. */
  readonly total: number | undefined
  /** What narrows the list; undefined where what it shows came by no filter. */
  readonly filter: BulkFilter | undefined
  readonly isMore: boolean
  readonly choice: Choice
  readonly onChoose: (choice: Choice) => void
}) {
  const [action, setAction] = useState<BulkAction>()
  // Loaded before a SIM is ticked: what comes late would move what is under a finger.
  const panels = usePanels<{ readonly Panel: ComponentType<Ticked> }>('sims.bulk')
  const isNone = selected.size === 0
  if (isNone && (!isOffered(filter) || rows.length === 0)) return null
  const known = isMore ? total : rows.length
  const count = isAll ? known : selected.size
  const isWhole = isAll || (!isMore && selected.size >= rows.length)
  const ticked = rows.filter((sim) => selected.has(sim.imsi_sha256_12))
  const chooseAll = (): void =>
    onChoose({
      selected: new Set(rows.map((sim) => sim.imsi_sha256_12)),
      isAll: isMore && filter !== undefined,
    })
  return (
    <section class="toolbar bulk" aria-label={t('sims.bulk')}>
      <strong aria-live="polite">
        {isNone ? '' : count === undefined ? t('sims.bulk.allChosen') : t('ui.selected', { count })}
      </strong>
      {isWhole ? null : (
        <Button kind="quiet" onClick={chooseAll}>
          {allText(known)}
        </Button>
      )}
      {isNone ? null : <Actions onClear={() => onChoose(NO_CHOICE)} onAction={setAction} />}
      <OfTicked panels={panels} sims={isAll ? [] : ticked} onDone={() => onChoose(NO_CHOICE)} />
      {action === undefined ? null : (
        <BulkDialog
          action={action}
          meant={meantOf(filter, { selected, isAll })}
          count={count ?? rows.length}
          rows={rows}
          onClose={(isDone) => {
            setAction(undefined)
            if (isDone) onChoose(NO_CHOICE)
          }}
        />
      )}
    </section>
  )
}
