import { useEffect, useRef, useState } from 'preact/hooks'
import { filter, setFilters } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { STATES } from './sim.tsx'

/** What the list can be asked for; all but the search of whole identifiers stands in the address. */
export interface SimFilter {
  readonly q?: string
  readonly state?: (typeof STATES)[number]
  readonly attached?: boolean
  readonly label?: string
  readonly profile?: string
  readonly batch_id?: string
}

/** Filters that links lead to; shown as words that can be taken away. */
const LINKED = ['label', 'profile', 'batch_id'] as const
/** What has that many digits is an IMSI, an ICCID or a whole number: it goes into no address. */
const WHOLE_DIGITS = /^\+?[\d\s-]{14,30}$/
const TYPING_MS = 250

/** The filter that the address holds. */
export function filterHere(): SimFilter {
  const [q, state, attached] = [filter('q'), filter('state'), filter('attached')]
  const known = STATES.find((one) => one === state)
  return {
    ...(q === '' ? {} : { q }),
    ...(known === undefined ? {} : { state: known }),
    ...(attached === '' ? {} : { attached: attached === 'true' }),
    ...Object.fromEntries(LINKED.map((name) => [name, filter(name)]).filter(([, value]) => value !== '')),
  }
}

/** What is searched for, and by what the list is narrowed. `onWhole` gets what must not stand in an address. */
export function Filters({ onWhole }: { readonly onWhole: (digits: string | undefined) => void }) {
  return (
    <search class="toolbar filters">
      <SearchField onWhole={onWhole} />
      <Select
        label={t('sims.filter.state')}
        value={filter('state')}
        onChange={(state) => setFilters({ state })}
        options={[
          { value: '', label: t('sims.filter.all') },
          ...STATES.map((value) => ({ value, label: word('sims.state', value) })),
        ]}
      />
      <Select
        label={t('sims.filter.attached')}
        value={filter('attached')}
        onChange={(attached) => setFilters({ attached })}
        options={[
          { value: '', label: t('sims.filter.all') },
          { value: 'true', label: t('sims.attached.yes') },
          { value: 'false', label: t('sims.attached.no') },
        ]}
      />
      {LINKED.filter((name) => filter(name) !== '').map((name) => (
        <Button key={name} onClick={() => setFilters({ [name]: undefined })}>
          {t('sims.filter.remove', { what: t(`sims.filter.${name}`), value: filter(name) })}
          <span aria-hidden="true"> ×</span>
        </Button>
      ))}
    </search>
  )
}

function SearchField({ onWhole }: { readonly onWhole: (digits: string | undefined) => void }) {
  const [text, setText] = useState(filter('q'))
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const inAddress = filter('q')
  // Another page of the history, or a link; not what is being typed.
  useEffect(() => {
    if (inAddress !== '' || text === '') setText(inAddress)
  }, [inAddress])
  const take = (given: string): void => {
    setText(given)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      const isWhole = WHOLE_DIGITS.test(given.trim())
      onWhole(isWhole ? given.replaceAll(/\D/g, '') : undefined)
      setFilters({ q: isWhole ? undefined : given.trim() })
    }, TYPING_MS)
  }
  return (
    <Field
      type="search"
      label={t('sims.search')}
      help={t('sims.search.help')}
      value={text}
      maxLength={64}
      onInput={take}
    />
  )
}
