import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { ByHand } from './by-hand.tsx'
import { countryName } from './country.tsx'
import { codeOf, misfit } from './country-codes.ts'
import { LookFirst } from './look-first.tsx'
import { Step } from './step.tsx'
import { type SettingsForm, useSettings } from './use-settings.ts'

/** The PLMN of laboratories, which no operator has. ITU-T E.212. */
const LAB_MCC = '999'

/** The network's number: MCC and MNC. TS 23.003 clause 12.1. */
export function Plmn() {
  const form = useSettings()
  const [mcc, mnc] = [form.inForce('plmn.mcc'), form.inForce('plmn.mnc')]
  const country = form.inForce('server.country')
  const isKnown = mcc !== undefined && mnc !== undefined && country !== undefined
  return (
    <Step title={t('start.plmn')} isDone={isKnown}>
      {isKnown ? (
        <>
          <p>{t(mcc === LAB_MCC ? 'start.plmn.lab' : 'start.plmn.is', { plmn: `${mcc}-${mnc}` })}</p>
          <PlmnForm form={form} mcc={mcc} mnc={mnc} country={country} />
        </>
      ) : null}
      {form.byHand === undefined ? null : <ByHand planned={form.byHand} />}
    </Step>
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
        label={t('start.plmn.mnc')}
        help={t('start.plmn.mnc.help')}
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
      {form.error === undefined || draft.isStale ? null : <ErrorNotice error={form.error} />}
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
