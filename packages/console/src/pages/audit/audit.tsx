import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-rows.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t, word, wordsOf } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { PagedTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { EmptyState, Facts, Lamp, type Tone } from '../../ui/parts.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { happened } from '../home/untold.ts'
import { type ChainFindings, type Entry, verifyChain } from './chain.ts'

/** Checks the whole trail from here, and says what can be checked on the box alone. */
function Verification() {
  const [findings, setFindings] = useState<ChainFindings>()
  const [checked, setChecked] = useState<number>()
  const ending = useRef(new AbortController())
  useEffect(() => () => ending.current.abort(), [])
  const run = async (): Promise<void> => {
    setFindings(undefined)
    setChecked(0)
    try {
      const { signal } = ending.current
      setFindings(await verifyChain((query) => api.get('/v1/audit', { query, signal }), setChecked))
      setChecked(undefined)
    } catch (error) {
      // The page was left.
      if (!ending.current.signal.aborted) throw error
    }
  }
  return (
    <section class="card" aria-label={t('audit.verify')}>
      <p>{t('audit.verify.what')}</p>
      <div>
        <Button isBusy={checked !== undefined} onClick={() => void run()}>
          {checked === undefined ? t('audit.verify') : t('audit.verify.running', { count: checked })}
        </Button>
      </div>
      {findings === undefined ? null : <Findings findings={findings} />}
    </section>
  )
}

function Findings({ findings }: { readonly findings: ChainFindings }) {
  const { fault, error, checked, oldest, newest, hasHashes } = findings
  return (
    <>
      <ErrorNotice error={error} />
      {fault === undefined ? (
        <Notice tone={error === undefined ? 'ok' : 'warn'}>
          <p>{t('audit.verify.holds', { count: checked })}</p>
          {oldest === undefined || newest === undefined ? null : (
            <p>
              <Time at={oldest.at} /> – <Time at={newest.at} />
            </p>
          )}
        </Notice>
      ) : (
        <Notice tone="bad">
          <p>{t(`audit.verify.${fault.kind}`, { seq: fault.seq })}</p>
          <p>{t('audit.verify.fault.do')}</p>
        </Notice>
      )}
      <Notice>
        <p>{t('audit.verify.notHere')}</p>
        <ul>
          {hasHashes ? null : <li>{t('audit.verify.noHashes')}</li>}
          {oldest === undefined || oldest.seq === 1 ? null : (
            <li>{t('audit.verify.before', { seq: oldest.seq })}</li>
          )}
          <li>{t('audit.verify.end')}</li>
          <li>{t('audit.verify.rewritten')}</li>
        </ul>
        <p>
          <code>svc audit verify</code> · <a href="/docs/explanation/audit.html">{t('audit.docs')}</a>
        </p>
      </Notice>
    </>
  )
}

const NAMES = ['action', 'principal', 'target', 'from', 'to'] as const
type Filters = Readonly<Record<(typeof NAMES)[number], string>>

/** What of the trail is shown. It is in the address, so that it can be sent to somebody. */
function AuditFilters() {
  const applied = Object.fromEntries(NAMES.map((name) => [name, filter(name)])) as Filters
  const key = JSON.stringify(applied)
  const [wanted, setWanted] = useState(applied)
  useEffect(() => setWanted(applied), [key])
  const set = (name: keyof Filters) => (value: string) => setWanted({ ...wanted, [name]: value })
  const actions = knownActions()
  const isOther = applied.action !== '' && !actions.some(({ value }) => value === applied.action)
  return (
    <Form
      look="toolbar"
      act={async (): Promise<undefined> => {
        setFilters(wanted)
      }}
    >
      <Select
        text="audit.what"
        value={wanted.action}
        onChange={(action) => setFilters({ ...wanted, action })}
        options={[
          { value: '', label: t('audit.all') },
          ...(isOther ? [{ value: applied.action, label: actionText(applied.action) }] : []),
          ...actions,
        ]}
      />
      <details open={NAMES.some((name) => name !== 'action' && applied[name] !== '')}>
        <summary>{t('audit.more')}</summary>
        <div class="toolbar">
          <Field text="audit.whoId" value={wanted.principal} onInput={set('principal')} />
          <Field text="audit.target" value={wanted.target} onInput={set('target')} />
          <Field text="audit.from" type="datetime-local" value={wanted.from} onInput={set('from')} />
          <Field text="audit.to" type="datetime-local" value={wanted.to} onInput={set('to')} />
          <Button type="submit">{t('audit.filter')}</Button>
        </div>
      </details>
      {NAMES.some((name) => applied[name] !== '') ? (
        <Button
          kind="quiet"
          onClick={() => setFilters({ action: '', principal: '', target: '', from: '', to: '' })}
        >
          {t('audit.clear')}
        </Button>
      ) : null}
    </Form>
  )
}

/** The trail: who did what and when, and whether it still holds what was written. */
export function Page() {
  const [shown, setShown] = useState<Entry>()
  const entries = usePages('/v1/audit', queryOf(), ['*'])
  return (
    <>
      <h1>{t('audit.title')}</h1>
      <Verification />
      <AuditFilters />
      <PagedTable
        query={entries}
        label={t('audit.title')}
        columns={columns(setShown)}
        keyOf={({ seq }) => String(seq)}
        onOpen={setShown}
        empty={<EmptyState title={t('audit.none')}>{t('audit.none.help')}</EmptyState>}
      />
      {shown === undefined ? null : <EntryDialog entry={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

function queryOf(): Readonly<Record<string, string>> {
  const times = [
    ['from', filter('from')],
    ['to', filter('to')],
  ].flatMap(([name = '', text = '']) => {
    // An address may say anything.
    const at = new Date(text)
    return Number.isNaN(at.getTime()) ? [] : [[name, at.toISOString()]]
  })
  const texts = ['action', 'principal', 'target'].flatMap((name) =>
    filter(name) === '' ? [] : [[name, filter(name)]],
  )
  return Object.fromEntries([...times, ...texts])
}

function columns(onOpen: (entry: Entry) => void): readonly Column<Entry>[] {
  return [
    { text: 'audit.when', isTight: true, of: 'at', as: 'moment' },
    {
      text: 'audit.who',
      cell: ({ principal }) => (
        <Button
          kind="quiet"
          label={t('audit.onlyWho', { name: whoText(principal) })}
          onClick={() => setFilters({ principal: principal.id })}
        >
          {whoText(principal)}
        </Button>
      ),
    },
    {
      text: 'audit.what',
      cell: (entry) => (
        <Button
          kind="quiet"
          label={`${actionText(happened(entry))}, ${t('audit.entry', { seq: entry.seq })}`}
          onClick={() => onOpen(entry)}
        >
          {actionText(happened(entry))}
        </Button>
      ),
    },
    { text: 'audit.target', cell: (entry) => <Target entry={entry} />, isWide: true },
    {
      text: 'audit.outcome',
      cell: ({ outcome }) => <Lamp tone={toneOf(outcome)} label={word('audit.outcome', outcome)} />,
    },
  ]
}

/** What it was done to: a SIM by its label. */
function Target({ entry: { target, label } }: { readonly entry: Entry }) {
  return label === null ? <code>{target}</code> : <SubscriberName hash={target} label={label} />
}

function EntryDialog({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  const { principal, target, request_id: requestId } = entry
  const [who, kind] = [whoText(principal), word('audit.kind', principal.kind)]
  return (
    <Dialog isOpen title={actionText(happened(entry))} onClose={onClose}>
      <Facts
        facts={[
          [t('audit.entry.number'), entry.seq],
          [t('audit.when'), <Time key="at" at={entry.at} />],
          [t('audit.who'), who === kind ? who : `${who} (${kind})`],
          [t('audit.whoId'), <code key="id">{principal.id}</code>],
          [t('audit.action'), <code key="action">{entry.action}</code>],
          [t('audit.target'), <Target key="target" entry={entry} />],
          [t('sims.hash'), entry.label === null ? undefined : <code key="sim">{target}</code>],
          [
            t('audit.outcome'),
            <Lamp key="outcome" tone={toneOf(entry.outcome)} label={word('audit.outcome', entry.outcome)} />,
          ],
          ...Object.entries(entry.detail).map(
            ([name, value]) => [name.replaceAll('_', ' '), detailText(value)] as const,
          ),
          [
            t('audit.request'),
            requestId === null ? undefined : (
              <>
                <code>{requestId}</code> <Copy text={requestId} label={t('ui.copyRequestId')} />
              </>
            ),
          ],
          [t('audit.hash'), <code key="hash">{entry.hash}</code>],
        ]}
      />
      <div class="actions">
        <Button
          kind="quiet"
          onClick={() => {
            setFilters({ target })
            onClose()
          }}
        >
          {t('audit.onlyTarget')}
        </Button>
        <Button onClick={onClose}>{t('ui.close')}</Button>
      </div>
    </Dialog>
  )
}

function detailText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The actions that have words, for the list to choose from, in the order of those. */
function knownActions(): readonly { readonly value: string; readonly label: string }[] {
  return wordsOf('audit.do')
    .map((value) => ({ value, label: word('audit.do', value) }))
    .toSorted((a, b) => a.label.localeCompare(b.label))
}

/** What an action is in words, or what is told of it when it has happened; its name where there are neither. */
function actionText(action: string): string {
  const text = word('audit.do', action)
  return text === action ? word('event', action) : text
}

function toneOf(outcome: string): Tone {
  if (outcome === 'ok') return 'ok'
  return outcome === 'denied' ? 'warn' : 'bad'
}
