import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { ifPage } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { tx } from '../../app/transmitter.tsx'
import { locale, t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { Form, type FormProps } from '../../ui/form.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Lamp } from '../../ui/parts.tsx'
import { OnlyHere, QrCode } from '../../ui/qr-code.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { type CoreChange, useLookFirst } from '../core/core-change.tsx'
import { PendingInvitations } from '../people/pending.tsx'
import { PERSON_NAME } from '../people/roles.tsx'
import { Profiles } from '../radio/profiles.tsx'
import { RadioHealth, RadioOutages, sentenceOf } from '../radio/radio-health.tsx'
import { SpectrumMap } from '../radio/spectrum-map.tsx'
import { LicenseDocument } from '../rules/license-document.tsx'
import { RulePart } from '../rules/rules.tsx'
import { ByHand } from './by-hand.tsx'
import { codeOf, countries, misfit } from './country-codes.ts'
import { STEPS, type StartStep, TEST_LABEL, useProgress, useTestSims } from './progress.ts'
import { type SettingsForm, useSettings } from './use-settings.ts'

const LAB = 'LAB'

/** A country by its name in the reader's language. */
function countryName(code: string): string {
  if (!/^[A-Z]{2}$/.test(code)) return t('start.country.lab')
  return new Intl.DisplayNames(locale(), { type: 'region' }).of(code) ?? code
}

/** Where the box stands: whose rules hold for the radio. */
function Country({ isDone }: { readonly isDone: boolean }) {
  const form = useSettings()
  const now = form.inForce('server.country')
  const draft = useDraft(now ?? LAB)
  const { value } = draft
  const known = [...new Set([...countries(), ...(/^[A-Z]{2}$/.test(value) ? [value] : [])])]
  const options = [
    { value: LAB, label: countryName(LAB) },
    ...known
      .map((code) => ({ value: code, label: `${countryName(code)} (${code})` }))
      .toSorted((a, b) => a.label.localeCompare(b.label, locale())),
  ]
  return (
    <Step step="country" isDone={isDone}>
      <p>
        {now === undefined
          ? ''
          : t(isDone ? 'start.country.is' : 'start.country.missing', { country: countryName(now) })}
      </p>
      <Form
        submit={t('start.save')}
        isDisabled={now === undefined || !draft.isTouched}
        isStale={draft.isStale}
        isBusy={form.isBusy}
        error={form.error}
        act={() => form.save({ 'server.country': value })}
      >
        <Select
          label={t('start.country.where')}
          help={t('start.country.help')}
          value={value}
          onChange={draft.set}
          options={options}
        />
        <StaleNotice draft={draft} text={countryName} onChosen={form.clear} />
      </Form>
      {form.byHand === undefined ? null : <ByHand planned={form.byHand} />}
    </Step>
  )
}

/** The PLMN of laboratories, which no operator has. ITU-T E.212. */
const LAB_MCC = '999'

/** The network's number: MCC and MNC. TS 23.003 clause 12.1. */
function Plmn({ isDone, others }: { readonly isDone: boolean; readonly others: readonly string[] }) {
  const form = useSettings('start.saved')
  const [mcc, mnc] = [form.inForce('plmn.mcc'), form.inForce('plmn.mnc')]
  const country = form.inForce('server.country')
  const isKnown = mcc !== undefined && mnc !== undefined && country !== undefined
  return (
    <Step step="plmn" isDone={isDone}>
      {isKnown ? (
        <>
          <p>{t(mcc === LAB_MCC ? 'start.plmn.lab' : 'start.plmn.is', { plmn: `${mcc}-${mnc}` })}</p>
          {others.length === 0 ? null : <NotAnnounced plmn={`${mcc}-${mnc}`} others={others} />}
          <PlmnForm form={form} mcc={mcc} mnc={mnc} country={country} />
        </>
      ) : null}
      {form.byHand === undefined ? null : <ByHand planned={form.byHand} />}
    </Step>
  )
}

/** The core still announces another number: what that means, and where to mend it. */
function NotAnnounced({ plmn, others }: { readonly plmn: string; readonly others: readonly string[] }) {
  const core = ifPage('/core')
  return (
    <Notice tone="warn">
      <p>{t('start.plmn.notAnnounced', { plmn, others: others.join(', ') })}</p>
      <p>{t('start.plmn.announce')}</p>
      {core === undefined ? null : <ButtonLink href={core}>{t('start.plmn.openCore')}</ButtonLink>}
    </Notice>
  )
}

interface PlmnNumber {
  readonly mcc: string
  readonly mnc: string
}

/** What is in force, to be typed over. */
function PlmnForm({
  form,
  country,
  ...now
}: PlmnNumber & { readonly form: SettingsForm; readonly country: string }) {
  const draft = useDraft<PlmnNumber>({ mcc: now.mcc, mnc: now.mnc })
  const { mcc, mnc } = draft.value
  const [isMcc, isMnc] = [/^[0-9]{3}$/.test(mcc), /^[0-9]{2,3}$/.test(mnc)]
  const isChanged = draft.isTouched && !draft.isStale
  const code = codeOf(country)
  const wanted = { 'plmn.mcc': mcc, 'plmn.mnc': mnc }
  return (
    <LookFirst
      change={{ mcc, mnc }}
      isAllowed={() => form.isAllowed(wanted)}
      apply={() => form.save(wanted)}
      isBusy={form.isBusy}
      isDisabled={!(isChanged && isMcc && isMnc)}
      isStale={draft.isStale}
      error={form.error}
    >
      <Field
        label={t('start.plmn.mcc')}
        help={
          code === undefined
            ? t('start.plmn.mcc.help')
            : t('start.plmn.mcc.of', { code, country: countryName(country) })
        }
        value={mcc}
        onInput={(text) => draft.set({ mcc: text, mnc })}
        inputMode="numeric"
        maxLength={3}
        isRequired
        error={isMcc ? undefined : t('start.plmn.mcc.wrong')}
      />
      <Field
        text="start.plmn.mnc"
        value={mnc}
        onInput={(text) => draft.set({ mcc, mnc: text })}
        inputMode="numeric"
        maxLength={3}
        isRequired
        error={isMnc ? undefined : t('start.plmn.mnc.wrong')}
      />
      {isMcc && isMnc ? <Oddity country={country} mcc={mcc} mnc={mnc} /> : null}
      {isChanged ? <OldSims {...now} /> : null}
      <StaleNotice draft={draft} text={(one) => `${one.mcc}-${one.mnc}`} onChosen={form.clear} />
    </LookFirst>
  )
}

/** What does not fit about the number in that country. It may still be meant: a box at a border, a code that several share. */
function Oddity({ country, mcc, mnc }: PlmnNumber & { readonly country: string }) {
  const odd = misfit(country, mcc, mnc)
  if (odd === undefined) return null
  const owners = odd.countries.map(countryName).join(', ')
  return (
    <Notice tone="warn">{t(`start.plmn.${odd.why}`, { mcc, owners, country: countryName(country) })}</Notice>
  )
}

/** SIMs carry the number that was in force when they were issued. */
function OldSims({ mcc, mnc }: PlmnNumber) {
  const sims = useQuery('/v1/sims', { query: { limit: 1 } }, { on: ['sim.*'] })
  if ((sims.data?.sims.length ?? 0) === 0) return null
  return <Notice tone="warn">{t('start.plmn.sims', { plmn: `${mcc}-${mnc}` })}</Notice>
}

/** A SIM to try the network with: issued here, put into a phone, watched until it attaches. */
function TestSim({ isDone }: { readonly isDone: boolean }) {
  const sims = useTestSims()
  const issue = useAction(() => api.post('/v1/sims', { body: { count: 1, label: TEST_LABEL } }))
  const [isAsked, setAsked] = useState(false)
  const sim = sims.data?.sims[0]
  const isOn = typeof sim?.first_attach_at === 'string'
  return (
    <Step step="sim" isDone={isDone}>
      <p>{t(isDone && !isOn ? 'start.sim.inUse' : 'start.sim.about')}</p>
      <ErrorNotice error={issue.error} />
      {sim === undefined ? (
        <Button
          isBusy={issue.isBusy || isAsked}
          onClick={() => {
            setAsked(true)
            void issue.run().then(() => {
              setAsked(false)
              sims.reload()
            })
          }}
        >
          {t('start.sim.issue')}
        </Button>
      ) : (
        <>
          <p>
            <SubscriberName hash={sim.imsi_sha256_12} />{' '}
            <Lamp
              tone={isOn ? 'ok' : 'none'}
              label={t(isOn ? 'start.sim.on' : 'start.sim.waiting', {
                state: word('start.provisioning', sim.provisioning.status),
              })}
            />
          </p>
          {isOn ? null : <Insert batch={sim.batch_id ?? ''} />}
        </>
      )}
    </Step>
  )
}

/** How the SIM gets into a phone: as a card, or as a code to scan where one is offered. Keys of cards leave the box on a terminal alone. */
function Insert({ batch }: { readonly batch: string }) {
  const { inForce } = useSettings()
  const command = `npm run -s svc -- sim export ${batch} --data-dir ${inForce('server.data_dir') ?? './data'} --format json | npm run -s lab -- insert`
  return (
    <>
      <p>{t('start.sim.insert')}</p>
      {batch === '' ? null : <Panels on="sims.issued" batch={batch} />}
      {inForce('server.mode') !== 'lab' ? null : (
        <>
          <p>{t('start.sim.lab')}</p>
          <p>
            <code>{command}</code>
          </p>
          <Copy text={command} />
        </>
      )}
    </>
  )
}

/** What a new box needs, in order; each step says whether it is done, and the first that is not is shown at the top. */
export function Page() {
  const progress = useProgress()
  const { done, ranges, profiles, error, reload } = progress
  const next = STEPS.find((step) => !done[step])
  return (
    <>
      <h1>{t('start.title')}</h1>
      <p>{t('start.about')}</p>
      <ErrorNotice error={error} onRetry={reload} />
      {!progress.isKnown ? null : (
        <Notice tone={next === undefined ? 'ok' : 'none'}>
          {next === undefined ? (
            <p>{t('start.whole')}</p>
          ) : (
            <p>
              {t('start.next', { done: STEPS.filter((step) => done[step]).length, of: STEPS.length })}{' '}
              <a
                href={`#start-${next}`}
                onClick={(event) => {
                  event.preventDefault()
                  document.getElementById(`start-${next}`)?.scrollIntoView()
                }}
              >
                {t(`start.${next}`)}
              </a>
            </p>
          )}
        </Notice>
      )}
      <Panels on="start" />
      <Country isDone={done.country} />
      <Plmn isDone={done.plmn} others={progress.otherNetworks} />
      <Step step="license" isDone={done.license}>
        <p>{t('start.license.about')}</p>
        {progress.license === undefined || done.license ? null : (
          <Notice tone="warn">{t(`start.license.${progress.license}`)}</Notice>
        )}
        <RulePart section="license" />
        <LicenseDocument />
      </Step>
      <Step step="spectrum" isDone={done.spectrum}>
        <p>{t('start.spectrum.about')}</p>
        <RulePart section="allow" />
        {ranges === undefined || ranges.ranges.length === 0 ? null : (
          <SpectrumMap ranges={ranges} profiles={profiles ?? []} />
        )}
      </Step>
      <Step step="air" isDone={done.air}>
        <p>{t('start.air.about')}</p>
        <Panels on="radio" />
        {tx.value === undefined ? null : <p class="radio-state">{sentenceOf(tx.value)}</p>}
        <RadioOutages />
        {profiles === undefined || ranges === undefined ? null : (
          <Profiles profiles={profiles} ranges={ranges.ranges} country={ranges.country} />
        )}
        <RadioHealth />
      </Step>
      <Apns isDone={done.apn} />
      <FirstPerson isDone={done.person} />
      <TestSim isDone={done.sim} />
    </>
  )
}

/** The names by which phones ask for the internet. */
function Apns({ isDone }: { readonly isDone: boolean }) {
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const save = useAction((apns: readonly string[]) =>
    api.put('/v1/policy', { body: { apns }, ...(policy.etag === undefined ? {} : { ifMatch: policy.etag }) }),
  )
  const known = policy.data?.apns ?? []
  const draft = useDraft(known.join(', '))
  const apns = draft.value.split(/[\s,]+/).filter((name) => name !== '')
  const submit = async (): Promise<undefined> => {
    const result = await save.run(apns)
    // Refused as stale: what is in force now is read, and shown beside what is typed.
    if (result?.ok === false) policy.reload()
    if (result?.ok !== true) return
    draft.drop()
    toast({ text: t('start.saved') })
  }
  return (
    <Step step="apn" isDone={isDone}>
      <LookFirst
        change={{ apns: apns.join(',') }}
        apply={submit}
        isBusy={save.isBusy}
        isDisabled={!draft.isTouched}
        isStale={draft.isStale}
        error={save.error}
      >
        <Field
          name="apns"
          label={t('start.apn.names')}
          help={t('start.apn.help')}
          value={draft.value}
          onInput={draft.set}
          lines={2}
          isRequired
        />
        <StaleNotice draft={draft} text={String} onChosen={save.clear} />
      </LookFirst>
    </Step>
  )
}

/** The first person with an account of their own: invited by a link that they open on their phone. */
function FirstPerson({ isDone }: { readonly isDone: boolean }) {
  const [name, setName] = useState('')
  const [link, setLink] = useState<string>()
  return (
    <Step step="person" isDone={isDone}>
      <p>{t('start.person.about')}</p>
      <PendingInvitations />
      {link === undefined ? (
        <Form
          submit={t('start.person.invite')}
          act={() => api.post('/v1/users/invitations', { body: { name, roles: ['admin'] } })}
          onDone={({ token }) => setLink(`${location.origin}/v1/auth/invitation#${token}`)}
        >
          <Field
            name="name"
            label={t('start.person.name')}
            help={t('people.name.help')}
            value={name}
            onInput={setName}
            pattern={PERSON_NAME}
            maxLength={64}
            isRequired
          />
        </Form>
      ) : (
        <Notice tone="ok">
          <p>{t('start.person.link', { name })}</p>
          <OnlyHere text={link}>{t('people.invited.here')}</OnlyHere>
          <QrCode text={link} what={t('start.person.qr')} />
          <p>
            <Copy text={link} label={t('start.person.copy')} />
          </p>
        </Notice>
      )}
    </Step>
  )
}

/**
 * A form that changes the core: its button shows what that would do, and only then another makes the change. What is typed after that is
 * looked at anew. Where nothing keeps the core at its configuration, it is saved at once.
 */
function LookFirst({
  change,
  isAllowed,
  apply,
  isDisabled,
  children,
  ...form
}: Pick<FormProps<never>, 'isBusy' | 'isStale' | 'error'> & {
  readonly change: CoreChange
  /** Whether it may be made at all; says itself why not. */
  readonly isAllowed?: () => Promise<boolean>
  readonly apply: () => Promise<undefined>
  readonly isDisabled: boolean
  readonly children: ComponentChildren
}) {
  const { canLook, isLooked: isSeen, isWaiting, effect, look, leave } = useLookFirst(change)
  const isLooked = isSeen && !isDisabled && form.isStale !== true
  const submit = async (): Promise<undefined> => {
    if (canLook === true && !isLooked) {
      if (await (isAllowed?.() ?? true)) look()
      return
    }
    leave()
    await apply()
  }
  return (
    <Form
      {...form}
      submit={t(isLooked ? 'start.apply' : canLook === true ? 'core.whatIf.look' : 'start.save')}
      kind={isLooked ? 'primary' : 'plain'}
      isBusy={form.isBusy === true || isWaiting}
      isDisabled={isDisabled}
      act={submit}
      onCancel={isLooked ? leave : undefined}
      cancel={t('start.look.back')}
    >
      {children}
      {isLooked ? effect : null}
    </Form>
  )
}

/** One step, and whether it is done. */
function Step({
  step,
  isDone,
  children,
}: {
  readonly step: StartStep
  readonly isDone: boolean
  readonly children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class="card" id={`start-${step}`} aria-labelledby={id}>
      <h2 id={id}>{t(`start.${step}`)}</h2>
      <p>
        <Lamp tone={isDone ? 'ok' : 'warn'} label={t(isDone ? 'start.done' : 'start.open')} />
      </p>
      {children}
    </section>
  )
}
