import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { StaleChoice } from '../../ui/stale-notice.tsx'
import { Time } from '../../ui/time.tsx'
import { whoOf } from '../../ui/who.ts'
import { AskCore } from '../core/what-if.tsx'
import { AllowList } from './allow-list.tsx'
import { Difference } from './difference.tsx'
import { RULES, type RuleField, type Section } from './rule-fields.ts'
import { type Rules, useRules } from './use-rules.ts'
import './rules.css'

const SECTIONS: readonly Section[] = ['license', 'allow', 'apns', 'retention', 'limits', 'mesh']

/** The rules of the network, to be read by everybody and changed by operators. */
export function Page() {
  const rules = useRules()
  const { policy, problem, reload } = rules
  const isReader = !may('operator')
  return (
    <>
      <h1>{t('rules.title')}</h1>
      {problem === undefined ? null : <ErrorNotice error={problem} onRetry={reload} />}
      {policy === undefined ? null : (
        <form
          class="rules"
          onSubmit={(event) => {
            event.preventDefault()
            void rules.save()
          }}
        >
          <p class="fine">
            {t('rules.revision', { revision: policy.revision })} <Time at={policy.updated_at} />
          </p>
          {isReader ? <Notice>{t('rules.readOnly')}</Notice> : null}
          {SECTIONS.map((section) => (
            <RuleSection key={section} section={section} rules={rules} isReader={isReader} />
          ))}
          {isReader ? null : <SaveBar rules={rules} />}
        </form>
      )}
    </>
  )
}

interface PartProps {
  readonly rules: Rules
  readonly isReader: boolean
}

function RuleSection({ section, rules, isReader }: PartProps & { readonly section: Section }) {
  const own = RULES.filter((rule) => rule.section === section)
  const id = `rules-${section}`
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{t(`rules.section.${section}`)}</h2>
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
    </section>
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
      error={errorAt(rules, path)}
      {...(kind === 'lines' ? { lines: 4 } : {})}
    />
  )
}

/** What is wrong with a rule: as it is typed, or as the API says. */
function errorAt({ wrong, error }: Rules, path: string): string | undefined {
  if (wrong.has(path)) return t('rules.wrong')
  const pointer = `/${path.replaceAll('.', '/')}`
  return error?.details.find((detail) => detail.pointer.startsWith(pointer))?.message
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
  const { own, theirs, before, draft, error, isSaving } = rules
  if (own.length === 0) return null
  const isConflict = error?.code === 'policy_conflict'
  return (
    <section class="card save" aria-labelledby="rules-changes">
      <h2 id="rules-changes">{t('rules.changes', { count: own.length })}</h2>
      <Difference paths={own} before={before} after={draft} />
      {has('core-config') && own.includes('apns') ? (
        <AskCore change={{ apns: namesOf(draft.apns).join(',') }} />
      ) : null}
      {theirs === undefined ? null : (
        <StaleChoice told={t('rules.stale')} onKeep={rules.keep} onDrop={rules.drop}>
          <p>{t('rules.stale.help')}</p>
          <Difference paths={RULES.map(({ path }) => path)} before={before} after={theirs} own={draft} />
        </StaleChoice>
      )}
      {error === undefined || (isConflict && theirs !== undefined) ? null : <ErrorNotice error={error} />}
      {theirs === undefined ? (
        <div class="actions">
          <Button onClick={rules.drop}>{t('rules.drop')}</Button>
          <Button type="submit" kind="primary" isBusy={isSaving}>
            {t('rules.save')}
          </Button>
        </div>
      ) : null}
    </section>
  )
}
