import { locale, t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { ByHand } from './by-hand.tsx'
import { countries } from './country-codes.ts'
import { Step } from './step.tsx'
import { useSettings } from './use-settings.ts'

const LAB = 'LAB'

/** A country by its name in the reader's language. */
export function countryName(code: string): string {
  if (!/^[A-Z]{2}$/.test(code)) return t('start.country.lab')
  return new Intl.DisplayNames(locale(), { type: 'region' }).of(code) ?? code
}

/** Where the box stands: whose rules hold for the radio. */
export function Country({ isDone }: { readonly isDone: boolean }) {
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
    <Step title={t('start.country')} isDone={isDone}>
      <p>
        {now === undefined
          ? ''
          : t(isDone ? 'start.country.is' : 'start.country.missing', { country: countryName(now) })}
      </p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void form.save({ 'server.country': value })
        }}
      >
        <Select
          label={t('start.country.where')}
          help={t('start.country.help')}
          value={value}
          onChange={draft.set}
          options={options}
        />
        <StaleNotice draft={draft} text={countryName} onChosen={form.clear} />
        {form.error === undefined || draft.isStale ? null : <ErrorNotice error={form.error} />}
        <div>
          <Button
            type="submit"
            isBusy={form.isBusy}
            isDisabled={now === undefined || !draft.isTouched || draft.isStale}
          >
            {t('start.save')}
          </Button>
        </div>
      </form>
      {form.byHand === undefined ? null : <ByHand planned={form.byHand} />}
    </Step>
  )
}
