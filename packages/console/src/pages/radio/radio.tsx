import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { GATES } from '../../app/kept-off.ts'
import { ifPage } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { StopButton, type Tx, tx } from '../../app/transmitter.tsx'
import { choices, t } from '../../text/index.ts'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Card } from '../../ui/parts.tsx'
import { Profiles } from './profiles.tsx'
import './radio.css'
import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Field, Select, useTyped } from '../../ui/field.tsx'
import { Lamp, Said } from '../../ui/parts.tsx'
import { RadioHealth, RadioOutages, sentenceOf } from './radio-health.tsx'
import { bandOf, CHANGES, mhzText } from './spectrum.ts'
import { SpectrumMap } from './spectrum-map.tsx'

type Answer = AnswerOf<'POST', '/v1/spectrum/check'>

const EMPTY = { technology: 'lte', channels: '', band: '', bandwidth_mhz: '', country: '' }

/** Asks whether channels may be used here. It changes nothing. */
function CheckForm() {
  const { typed, of } = useTyped(EMPTY)
  const [wrong, setWrong] = useState<string>()
  const [answer, setAnswer] = useState<Answer>()
  const ask = async () => {
    const channels = channelsFrom(typed.channels)
    setWrong(channels === undefined ? t('radio.ask.channels.wrong') : undefined)
    if (channels === undefined) return undefined
    const result = await api.post('/v1/spectrum/check', { body: { channels, ...askedFrom(typed) } })
    if (!result.ok) setAnswer(undefined)
    return result
  }
  return (
    <Card title={t('radio.ask')}>
      <Form submit={t('radio.ask.go')} act={ask} onDone={setAnswer}>
        <div class="cards">
          <Select
            {...of('technology')}
            text="radio.ask.technology"
            options={choices('radio.technology', ['lte', 'nr'])}
          />
          <Field {...of('channels')} text="radio.ask.channels" error={wrong} isRequired />
          <Field {...of('band')} text="radio.ask.band" />
          <Field {...of('bandwidth_mhz')} text="radio.ask.width" inputMode="decimal" />
          <Field {...of('country')} text="radio.ask.country" maxLength={2} />
        </div>
      </Form>
      {answer === undefined ? null : <Verdict answer={answer} />}
    </Card>
  )
}

function Verdict({ answer }: { readonly answer: Answer }) {
  return (
    <>
      <Notice tone={answer.allowed ? 'ok' : 'warn'}>
        <p>
          <strong>{t(answer.allowed ? 'radio.ask.yes' : 'radio.ask.no')}</strong> <Said>{answer.reason}</Said>
        </p>
      </Notice>
      <DataTable
        label={t('radio.ask.results')}
        rows={answer.results}
        columns={columns()}
        keyOf={({ channel }) => String(channel)}
      />
    </>
  )
}

function columns(): readonly Column<Answer['results'][number]>[] {
  return [
    { text: 'radio.ask.channel', isNumeric: true, of: 'channel' },
    {
      text: 'radio.ask.allowed',
      cell: ({ allowed }) => (
        <Lamp tone={allowed ? 'ok' : 'bad'} label={t(allowed ? 'radio.ask.may' : 'radio.ask.mayNot')} />
      ),
    },
    { text: 'radio.ask.band', cell: ({ band, bands }) => band ?? bands.join(', ') },
    {
      text: 'radio.carrier.down',
      isNumeric: true,
      cell: ({ downlink_mhz: mhz }) => (mhz === null ? '–' : mhzText(mhz)),
    },
    {
      text: 'radio.carrier.up',
      isNumeric: true,
      isWide: true,
      cell: ({ uplink_mhz: mhz }) => (mhz === null ? '–' : mhzText(mhz)),
    },
    { text: 'radio.ask.why', cell: ({ reason }) => <Said>{reason ?? ''}</Said> },
  ]
}

/** Numbers with commas or spaces between them; undefined for anything else. */
function channelsFrom(text: string): readonly number[] | undefined {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '')
  return parts.length > 0 && parts.every((part) => /^\d{1,7}$/.test(part)) ? parts.map(Number) : undefined
}

function askedFrom({ technology, band, bandwidth_mhz: width, country }: typeof EMPTY) {
  return {
    technology: technology === 'nr' ? ('nr' as const) : ('lte' as const),
    ...(band.trim() === '' ? {} : { band: bandOf(technology, band) }),
    ...(width.trim() === '' ? {} : { bandwidth_mhz: Number(width.replace(',', '.')) }),
    ...(country.trim() === '' ? {} : { country: country.trim().toUpperCase() }),
  }
}

/** Where one of the three is set, for who may; the others read what it is. */
function Where({ gate, country }: { readonly gate: (typeof GATES)[number]; readonly country: string }) {
  const href = ifPage(gate === 'country_code' ? '/start' : '/rules')
  if (href === undefined) return <>{t('radio.check.country-code.help', { country })}</>
  return <a href={href}>{t(`radio.gate.${gate}.where`, { country })}</a>
}

/** Whether it is on the air, what the three gates say and where each is opened, and Stop. */
function Gates({ state, country }: { readonly state: Tx | undefined; readonly country: string | undefined }) {
  if (state === undefined) return null
  return (
    <Card title={t('radio.gates')}>
      <p class="radio-state">{sentenceOf(state)}</p>
      <ul class="gates">
        {GATES.map((gate) => {
          const isOpen = state.gates[gate] === 'set'
          return (
            <li key={gate}>
              <Lamp
                tone={isOpen ? 'ok' : 'bad'}
                label={t(`radio.gate.${gate}.${isOpen ? 'set' : 'missing'}`)}
              />
              <p class="fine">
                <Where gate={gate} country={country ?? ''} />
              </p>
            </li>
          )
        })}
      </ul>
      <StopButton />
    </Card>
  )
}

/** The radio: whether it may send, on what, and what it says of itself. */
export function Page() {
  const profiles = useQuery('/v1/tx/profiles', {}, CHANGES)
  const ranges = useQuery('/v1/spectrum/ranges', {}, CHANGES)
  const error = profiles.error ?? ranges.error
  const rows = profiles.data?.profiles ?? []
  return (
    <>
      <h1>{t('radio.title')}</h1>
      <ErrorNotice error={error} onRetry={profiles.error === undefined ? ranges.reload : profiles.reload} />
      <Gates state={tx.value} country={ranges.data?.country} />
      <RadioOutages />
      <RadioHealth />
      <Panels on="radio" />
      {profiles.data === undefined ? null : (
        <Profiles profiles={rows} country={ranges.data?.country ?? ''} ranges={ranges.data?.ranges ?? []} />
      )}
      {ranges.data === undefined ? null : <SpectrumMap ranges={ranges.data} profiles={rows} />}
      {may('operator') ? <CheckForm /> : null}
    </>
  )
}
