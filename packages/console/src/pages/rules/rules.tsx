import { may } from '../../api/session.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { refusalText } from '../../ui/complaint.ts'
import { Checkbox, Field, Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { partOf } from '../../ui/form-problem.ts'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { StaleChoice } from '../../ui/stale-notice.tsx'
import { Time } from '../../ui/time.tsx'
import { whoOf } from '../../ui/who.ts'
import { useLookFirst } from '../core/core-change.tsx'
import { type Ranges, spanText, technologyOf } from '../radio/spectrum.ts'
import { LicenseDocument } from './license-document.tsx'
import {
  changedPaths,
  type Draft,
  draftOf,
  type EntryTyped,
  emptyEntry,
  type Policy,
  patchOf,
  type RuleField,
  rebased,
  rulesOf,
  shown,
  type Typed,
} from './rule-fields.ts'
import './rules.css'
import type { Problem } from '@steeple/client'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { useLeavingGuard } from '../../app/router.ts'
import { EmptyState } from '../../ui/parts.tsx'
import { toast } from '../../ui/toast.tsx'

/** The rules as they were when typing began. */
interface Base {
  readonly policy: Policy
  readonly etag: string | undefined
  readonly draft: Draft
}

/** The form of the rules: what is typed, what is in force, and what somebody else has done meanwhile. */
interface Rules {
  readonly policy: Policy | undefined
  /** Why they could not be read. */
  readonly problem: Problem | undefined
  readonly reload: () => void
  readonly draft: Draft
  readonly set: (path: string, typed: Typed) => void
  /** The rules that were touched here, and what they were. */
  readonly own: readonly string[]
  readonly before: Draft
  /** What is in force now, when somebody else has changed what is typed here; undefined when nobody has. */
  readonly theirs: Draft | undefined
  /** Keeps what is typed on top of what is in force now. */
  readonly keep: () => void
  /** Gives up what is typed. */
  readonly drop: () => void
  /** Saves; a change of what the core is told is only looked at first. */
  readonly save: () => Promise<undefined>
  readonly look: ReturnType<typeof useLookFirst>
  readonly isSaving: boolean
  readonly error: Problem | undefined
  /** What cannot be sent as it is typed, by path. */
  readonly wrong: ReadonlySet<string>
}

const NOTHING: Draft = {}

/** Reads the rules, and keeps what is typed whatever happens to them meanwhile. */
function useRules(): Rules {
  const query = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const [base, setBase] = useState<Base>()
  const [draft, setDraft] = useState<Draft>(NOTHING)
  const [wrong, setWrong] = useState<ReadonlySet<string>>(new Set())
  const change = useAction((patch: object, etag: string | undefined) =>
    api.put('/v1/policy', { body: patch, ...(etag === undefined ? {} : { ifMatch: etag }) }),
  )
  const own = base === undefined ? [] : changedPaths(base.draft, draft)
  const apns = namesOf(draft.apns).join(',')
  const look = useLookFirst(own.includes('apns') && apns !== '' ? { apns } : undefined)
  // What was read before a save says nothing of what is in force after it.
  const outdated = useRef<Policy | undefined>(undefined)
  const { etag } = query
  const data = query.data === outdated.current ? undefined : query.data
  const adopt = (policy: Policy, tag: string | undefined, typed: Draft): void => {
    setBase({ policy, etag: tag, draft: draftOf(policy) })
    setDraft(typed)
    setWrong(new Set())
    change.clear()
  }
  const theirs = base !== undefined && data !== undefined ? draftOf(data) : undefined
  const touched = theirs === undefined ? [] : changedPaths(base?.draft ?? NOTHING, theirs)
  const isStale = touched.some((path) => own.includes(path))
  useEffect(() => {
    if (data === undefined || data.revision === base?.policy.revision) return
    // Nobody else has touched what is typed here: the form simply follows.
    if (base === undefined) adopt(data, etag, draftOf(data))
    else if (!isStale) adopt(data, etag, rebased(draft, base.draft, draftOf(data)))
  }, [data, own.length])
  useLeavingGuard(own.length > 0 ? t('rules.leave') : undefined)
  const save = async (): Promise<undefined> => {
    if (base === undefined) return
    const sent = patchOf(base.draft, draft)
    setWrong(sent.wrong)
    if (sent.wrong.size > 0) return
    if (look.canLook === true && !look.isLooked) return void look.look()
    look.leave()
    const result = await change.run(sent.patch, base.etag)
    if (result === undefined) return
    // Refused as stale: what is in force now is read, and shown beside what is typed.
    if (!result.ok) query.reload()
    else {
      outdated.current = query.data
      adopt(result.data, result.etag, draftOf(result.data))
      query.reload()
      toast({ text: t('rules.saved', { revision: result.data.revision }) })
    }
  }
  return {
    policy: base?.policy,
    problem: base === undefined ? query.error : undefined,
    reload: query.reload,
    draft,
    set: (path, typed) => setDraft((known) => ({ ...known, [path]: typed })),
    own,
    before: base?.draft ?? NOTHING,
    theirs: isStale ? theirs : undefined,
    keep: () => {
      if (base !== undefined && data !== undefined)
        adopt(data, etag, rebased(draft, base.draft, draftOf(data)))
    },
    drop: () => {
      const now = data ?? base?.policy
      if (now !== undefined) adopt(now, data === undefined ? base?.etag : etag, draftOf(now))
    },
    save,
    look,
    isSaving: change.isBusy,
    error: change.error,
    wrong,
  }
}

/** The allow-list, row by row: edges in MHz as the licence has them, or channels; empty ones mean the edges of the band. */
function AllowList({
  path,
  rules,
  isReader,
}: {
  readonly path: string
  readonly rules: Rules
  readonly isReader: boolean
}) {
  const status = useQuery('/v1/status', {}, { on: ['settings.*', 'config.*'] })
  const typed = rules.draft[path]
  const entries = Array.isArray(typed) ? (typed as readonly EntryTyped[]) : []
  const put = (next: readonly EntryTyped[]): void => rules.set(path, next)
  const bands = useQuery('/v1/spectrum/ranges', {}).data?.bands ?? []
  const country = /^[A-Z]{2}$/.test(status.data?.country ?? '') ? (status.data?.country ?? '') : ''
  return (
    <div class="allow-list">
      {entries.length === 0 ? (
        <EmptyState title={t('rules.allow.none')}>{t('rules.allow.none.help')}</EmptyState>
      ) : null}
      {entries.map((entry, at) => (
        <Entry
          // A row has no name of its own; what is typed is kept outside of it.
          key={at}
          number={at + 1}
          entry={entry}
          isReader={isReader}
          bands={bands}
          errorOf={(column, value) =>
            refusedAt(rules, `/${path.replaceAll('.', '/')}/${at}/${column}`, value)
          }
          name={`${path.replaceAll('.', '/')}/${at}`}
          onChange={(next) => put(entries.with(at, next))}
          onRemove={() => put(entries.toSpliced(at, 1))}
        />
      ))}
      {rules.wrong.has(path) ? <p class="wrong">{t('rules.allow.wrong')}</p> : null}
      {isReader ? null : (
        <div>
          <Button onClick={() => put([...entries, emptyEntry(country)])}>{t('rules.allow.add')}</Button>
        </div>
      )}
    </div>
  )
}

interface EntryProps {
  readonly number: number
  readonly entry: EntryTyped
  readonly isReader: boolean
  readonly bands: Ranges['bands']
  /** Why the service refused what is in a column. */
  readonly errorOf: (column: string, value: string) => string | undefined
  /** Where the entry stands in the rules. */
  readonly name: string
  readonly onChange: (entry: EntryTyped) => void
  readonly onRemove: () => void
}

const EDGES = ['low_mhz', 'high_mhz', 'earfcn_min', 'earfcn_max'] as const
const COLUMNS = ['band', ...EDGES, 'max_eirp_dbm', 'country'] as const

function Entry({ number, entry, isReader, bands, errorOf, name, onChange, onRemove }: EntryProps) {
  const own = bands.filter(({ technology }) => technology === entry.technology)
  const put = (column: (typeof COLUMNS)[number], text: string): void => {
    const technology = (column === 'band' ? technologyOf(text) : undefined) ?? entry.technology
    onChange({ ...entry, technology, [column]: text })
  }
  return (
    <fieldset>
      <legend>{t('rules.allow.entry', { number })}</legend>
      <Select
        text="rules.allow.technology"
        value={entry.technology}
        isDisabled={isReader}
        onChange={(technology) => onChange({ ...entry, technology })}
        options={[
          { value: 'lte', label: 'LTE' },
          { value: 'nr', label: 'NR (5G)' },
        ]}
      />
      {COLUMNS.map((column) => (
        <Field
          key={column}
          name={`${name}/${column}`}
          label={t(`rules.allow.${column}`)}
          error={errorOf(column, entry[column])}
          {...(column === 'band'
            ? { choices: own.map((one) => ({ value: one.band, label: spanText(one) })) }
            : {})}
          value={entry[column]}
          isDisabled={isReader}
          isRequired={column === 'band' || column === 'country'}
          placeholder={placeholderOf(column)}
          onInput={(text) => put(column, text)}
        />
      ))}
      {isReader ? null : (
        <Button kind="quiet" onClick={onRemove} label={t('rules.allow.remove', { number })}>
          {t('rules.allow.away')}
        </Button>
      )}
    </fieldset>
  )
}

function placeholderOf(column: (typeof COLUMNS)[number]): string {
  if (column === 'band') return t('rules.allow.band.help')
  return EDGES.some((edge) => edge === column) ? t('rules.allow.edge') : ''
}

/** Why the service refused a value: in the reader's language where the rule is known, else in the service's own words. */
function refusedAt({ error }: Rules, pointer: string, value: string): string | undefined {
  const detail = error?.details.find(
    (one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`),
  )
  if (detail === undefined) return undefined
  return refusalText(detail, partOf(value, detail.pointer)) ?? detail.message
}

/** The rules of the network, to be read by everybody and changed by operators. */
export function Page() {
  const rules = useRules()
  const { policy, problem, reload } = rules
  const isReader = !may('operator')
  return (
    <>
      <h1>{t('rules.title')}</h1>
      <ErrorNotice error={problem} onRetry={reload} />
      {policy === undefined ? null : (
        <Form look="rules" act={rules.save}>
          <p class="fine">
            {t('rules.revision', { revision: policy.revision })} <Time at={policy.updated_at} />
          </p>
          {isReader ? <Notice>{t('rules.readOnly')}</Notice> : null}
          {[...new Set(rulesOf(rules.draft).map(({ section }) => section))].map((section) => (
            <RuleSection key={section} section={section} rules={rules} isReader={isReader} />
          ))}
          {isReader ? null : <SaveBar rules={rules} />}
        </Form>
      )}
      <LicenseDocument />
    </>
  )
}

interface PartProps {
  readonly rules: Rules
  readonly isReader: boolean
}

function RuleSection({ section, ...part }: PartProps & { readonly section: string }) {
  const id = `rules-${section}`
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{word('rules.section', section)}</h2>
      <RuleFields section={section} {...part} />
    </section>
  )
}

function RuleFields({ section, rules, isReader }: PartProps & { readonly section: string }) {
  const own = rulesOf(rules.draft).filter((rule) => rule.section === section)
  return (
    <>
      <div class="fields">
        {own.map((rule) =>
          rule.kind === 'entries' ? (
            <AllowList key={rule.path} path={rule.path} rules={rules} isReader={isReader} />
          ) : (
            <Rule key={rule.path} rule={rule} rules={rules} isReader={isReader} />
          ),
        )}
      </div>
      {section === 'license' ? <Stamp rules={rules} /> : null}
    </>
  )
}

/** One part of the rules as a form of its own, with what is about to change. */
export function RulePart({ section }: { readonly section: 'license' | 'allow' }) {
  const rules = useRules()
  const isReader = !may('operator')
  if (rules.problem !== undefined) return <ErrorNotice error={rules.problem} onRetry={rules.reload} />
  if (rules.policy === undefined) return null
  return (
    <Form look="rules" act={rules.save}>
      <RuleFields section={section} rules={rules} isReader={isReader} />
      {isReader ? null : <SaveBar rules={rules} />}
    </Form>
  )
}

const TYPES = { number: 'number', moment: 'datetime-local' } as const

function Rule({ rule, rules, isReader }: PartProps & { readonly rule: RuleField }) {
  const { path, kind, title, help } = rule
  const typed = rules.draft[path]
  const common = { label: t(title), isDisabled: isReader, ...(help === undefined ? {} : { help: t(help) }) }
  if (kind === 'flag')
    return <Checkbox {...common} isChecked={typed === true} onChange={(is) => rules.set(path, is)} />
  return (
    <Field
      {...common}
      type={kind === 'number' || kind === 'moment' ? TYPES[kind] : 'text'}
      value={typeof typed === 'string' ? typed : ''}
      onInput={(text) => rules.set(path, text)}
      error={errorAt(rules, rule)}
      name={path.replaceAll('.', '/')}
      {...(kind === 'lines' ? { lines: 4 } : {})}
    />
  )
}

/** What is wrong with a rule: as it is typed, or as the API says. */
function errorAt(rules: Rules, { path, kind }: RuleField): string | undefined {
  if (rules.wrong.has(path)) return t('rules.wrong')
  const typed = rules.draft[path]
  if (kind === 'moment' && typeof typed === 'string' && new Date(typed).getTime() <= Date.now())
    return t('rules.past')
  return refusedAt(rules, `/${path.replaceAll('.', '/')}`, String(typed))
}

/** Who has acknowledged the licence, and when. */
function Stamp({ rules }: { readonly rules: Rules }) {
  const { acknowledged_by: by, acknowledged_at: at } = rules.policy?.spectrum.license ?? {}
  if (typeof by !== 'string' || typeof at !== 'string') return null
  return (
    <p class="fine">
      {t('rules.license.by', { by: whoOf(by) })} <Time at={at} />
    </p>
  )
}

/** What stands in the lines of a field. */
function namesOf(typed: unknown): readonly string[] {
  return String(typed)
    .split(/[\s,]+/)
    .filter((name) => name !== '')
}

/** What is about to change, and what somebody else has changed meanwhile. */
function SaveBar({ rules }: { readonly rules: Rules }) {
  const id = useId()
  const { own, theirs, before, draft, error, isSaving, look } = rules
  if (own.length === 0) return null
  const isConflict = error?.code === 'policy_conflict'
  return (
    <section class="card save" aria-labelledby={id}>
      <h2 id={id}>{t('rules.changes', { count: own.length })}</h2>
      <Difference paths={own} before={before} after={draft} />
      {look.effect}
      {theirs === undefined ? null : (
        <StaleChoice told={t('rules.stale')} onKeep={rules.keep} onDrop={rules.drop}>
          <p>{t('rules.stale.help')}</p>
          <Difference paths={Object.keys(draft)} before={before} after={theirs} own={draft} />
        </StaleChoice>
      )}
      {error === undefined || (isConflict && theirs !== undefined) ? null : <ErrorNotice error={error} />}
      {theirs === undefined ? (
        <div class="actions">
          <Button onClick={rules.drop}>{t('rules.drop')}</Button>
          <Button type="submit" kind="primary" isBusy={isSaving || look.isWaiting}>
            {t(look.canLook === true && !look.isLooked ? 'core.whatIf.look' : 'rules.save')}
          </Button>
        </div>
      ) : null}
    </section>
  )
}

/** What differs between two states of the rules; with `own` what is typed here about the same ones. */
function Difference({
  paths,
  before,
  after,
  own,
}: {
  readonly paths: readonly string[]
  readonly before: Draft
  readonly after: Draft
  readonly own?: Draft
}) {
  const changed = changedPaths(before, after).filter((path) => paths.includes(path))
  const touched = own === undefined ? [] : changedPaths(before, own)
  return (
    <dl class="difference">
      {rulesOf(after)
        .filter(({ path }) => changed.includes(path))
        .map(({ path, title }) => (
          <div key={path}>
            <dt>{t(title)}</dt>
            <dd>
              <del>{shown(before[path])}</del> → <ins>{shown(after[path])}</ins>
              {touched.includes(path) ? (
                <p class="wrong">{t('rules.stale.both', { own: shown(own?.[path]) })}</p>
              ) : null}
            </dd>
          </div>
        ))}
    </dl>
  )
}
