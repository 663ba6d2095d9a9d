import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { StopButton, type Tx, tx } from '../../app/transmitter.tsx'
import { t, word } from '../../text/index.ts'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Profiles } from './profiles.tsx'
import './radio.css'
import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { HealthList } from '../../ui/health-list.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Said } from '../../ui/said.tsx'
import { type BandRow, type Bar, bandRows, mhzText, type Profile, type Ranges, spanText } from './spectrum.ts'

type Answer = AnswerOf<'POST', '/v1/spectrum/check'>

interface Typed {
  readonly technology: string
  readonly channels: string
  readonly band: string
  readonly width: string
  readonly country: string
}

const EMPTY: Typed = { technology: 'lte', channels: '', band: '', width: '', country: '' }

/** Asks whether channels may be used here. It changes nothing. */
function CheckForm() {
  const [typed, setTyped] = useState(EMPTY)
  const [wrong, setWrong] = useState<string | undefined>(undefined)
  const [answer, setAnswer] = useState<Answer | undefined>(undefined)
  const check = useAction((channels: readonly number[]) =>
    api.post('/v1/spectrum/check', { body: { channels, ...askedFrom(typed) } }),
  )
  const set = (key: keyof Typed) => (value: string) => setTyped({ ...typed, [key]: value })
  const ask = async (): Promise<void> => {
    const channels = channelsFrom(typed.channels)
    setWrong(channels === undefined ? t('radio.ask.channels.wrong') : undefined)
    if (channels === undefined) return
    const result = await check.run(channels)
    setAnswer(result?.ok === true ? result.data : undefined)
  }
  return (
    <section class="card" aria-labelledby="radio-check">
      <h2 id="radio-check">{t('radio.ask')}</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void ask()
        }}
      >
        <div class="cards">
          <Select
            label={t('radio.ask.technology')}
            value={typed.technology}
            onChange={set('technology')}
            options={['lte', 'nr'].map((value) => ({ value, label: word('radio.technology', value) }))}
          />
          <Field
            label={t('radio.ask.channels')}
            help={t('radio.ask.channels.help')}
            value={typed.channels}
            onInput={set('channels')}
            error={wrong}
            isRequired
          />
          <Field
            label={t('radio.ask.band')}
            help={t('radio.ask.band.help')}
            value={typed.band}
            onInput={set('band')}
          />
          <Field
            label={t('radio.ask.width')}
            help={t('radio.ask.width.help')}
            value={typed.width}
            onInput={set('width')}
            inputMode="decimal"
          />
          <Field
            label={t('radio.ask.country')}
            help={t('radio.ask.country.help')}
            value={typed.country}
            onInput={set('country')}
            maxLength={2}
          />
        </div>
        <div>
          <Button type="submit" isBusy={check.isBusy}>
            {t('radio.ask.go')}
          </Button>
        </div>
      </form>
      {check.error === undefined ? null : <ErrorNotice error={check.error} />}
      {answer === undefined ? null : <Verdict answer={answer} />}
    </section>
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
    { key: 'channel', title: t('radio.ask.channel'), isNumeric: true, cell: ({ channel }) => channel },
    {
      key: 'allowed',
      title: t('radio.ask.allowed'),
      cell: ({ allowed }) => (
        <Lamp tone={allowed ? 'ok' : 'bad'} label={t(allowed ? 'radio.ask.may' : 'radio.ask.mayNot')} />
      ),
    },
    { key: 'band', title: t('radio.ask.band'), cell: ({ band, bands }) => band ?? bands.join(', ') },
    {
      key: 'down',
      title: t('radio.carrier.down'),
      isNumeric: true,
      cell: ({ downlink_mhz: mhz }) => (mhz === null ? '–' : mhzText(mhz)),
    },
    {
      key: 'up',
      title: t('radio.carrier.up'),
      isNumeric: true,
      isWide: true,
      cell: ({ uplink_mhz: mhz }) => (mhz === null ? '–' : mhzText(mhz)),
    },
    { key: 'reason', title: t('radio.ask.why'), cell: ({ reason }) => <Said>{reason ?? ''}</Said> },
  ]
}

/** Numbers with commas or spaces between them; undefined for anything else. */
function channelsFrom(text: string): readonly number[] | undefined {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '')
  return parts.length > 0 && parts.every((part) => /^\d{1,7}$/.test(part)) ? parts.map(Number) : undefined
}

function askedFrom({ technology, band, width, country }: Typed) {
  return {
    technology: technology === 'nr' ? ('nr' as const) : ('lte' as const),
    ...(band.trim() === '' ? {} : { band: band.trim().toLowerCase() }),
    ...(width.trim() === '' ? {} : { bandwidth_mhz: Number(width.replace(',', '.')) }),
    ...(country.trim() === '' ? {} : { country: country.trim().toUpperCase() }),
  }
}

/** The allow-list against the bands and the carriers, as a picture and as a table. */
function SpectrumMap({
  ranges,
  profiles,
}: {
  readonly ranges: Ranges
  readonly profiles: readonly Profile[]
}) {
  const rows = bandRows(ranges, profiles)
  return (
    <section class="card" aria-labelledby="radio-map">
      <h2 id="radio-map">{t('radio.map')}</h2>
      {rows.length === 0 ? (
        <EmptyState
          title={t('radio.map.none')}
          action={<ButtonLink href="/rules">{t('radio.map.rules')}</ButtonLink>}
        >
          {t('radio.map.none.help')}
        </EmptyState>
      ) : (
        <>
          <p class="legend fine">
            {(['allowed', 'elsewhere', 'carrier'] as const).map((kind) => (
              <span key={kind}>
                <svg class="map-key" viewBox="0 0 20 10" aria-hidden="true">
                  <rect class={kind} x="1" y="1" width="18" height="8" />
                </svg>
                {t(`radio.map.${kind}`, { country: ranges.country })}
              </span>
            ))}
          </p>
          {rows.map((row) => (
            <Band key={row.key} row={row} />
          ))}
          <details>
            <summary>{t('radio.map.table')}</summary>
            <Entries rows={rows} />
          </details>
        </>
      )}
    </section>
  )
}

/** Widths of the picture in its own units; it is stretched to the page. */
const WIDTH = 1_000
/** From where and how high each is drawn; what counts elsewhere lies below the band. */
const PLACES = { allowed: [12, 16], elsewhere: [30, 5], carrier: [4, 24] } as const
/** Less could not be seen. */
const LEAST = 6

function Band({ row }: { readonly row: BandRow }) {
  const name = `${word('radio.technology', row.technology)} ${row.band}`
  return (
    <figure class="band">
      <figcaption>
        <strong>{name}</strong>{' '}
        {row.edges === undefined
          ? t('radio.map.unlisted')
          : t('radio.map.band', { span: spanText(row.edges) })}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t('radio.map.band.label', { band: name, bars: row.bars.map(barText).join('; ') })}
      >
        <rect class={row.edges === undefined ? 'unknown' : 'whole'} x="0" y="14" width={WIDTH} height="12" />
        {row.bars.map((bar) => (
          <BarShape key={bar.key} bar={bar} row={row} />
        ))}
      </svg>
      <p class="ends fine">
        <span>{mhzText(row.low_mhz)}</span>
        <span>{mhzText(row.high_mhz)}</span>
      </p>
      <ul class="bars fine">
        {row.bars.map((bar) => (
          <li key={bar.key}>{barText(bar)}</li>
        ))}
      </ul>
    </figure>
  )
}

function BarShape({ bar, row }: { readonly bar: Bar; readonly row: BandRow }) {
  const scale = WIDTH / (row.high_mhz - row.low_mhz)
  const x = (bar.low_mhz - row.low_mhz) * scale
  const width = Math.max(LEAST, (bar.high_mhz - bar.low_mhz) * scale)
  const [y, height] = PLACES[bar.kind]
  return (
    <rect class={`${bar.kind} ${bar.isArmed ? 'armed' : ''}`} x={x} y={y} width={width} height={height} />
  )
}

function barText(bar: Bar): string {
  return t(`radio.map.${bar.kind}.bar`, { label: bar.label, span: spanText(bar) })
}

type Entry = Bar & Pick<BandRow, 'technology' | 'band'>

function Entries({ rows }: { readonly rows: readonly BandRow[] }) {
  const entries = rows.flatMap(({ technology, band, bars }) =>
    bars.map((bar) => ({ ...bar, technology, band })),
  )
  const columns: readonly Column<Entry>[] = [
    {
      key: 'band',
      title: t('radio.map.column.band'),
      cell: ({ technology, band }) => `${word('radio.technology', technology)} ${band}`,
    },
    {
      key: 'what',
      title: t('radio.map.column.what'),
      cell: (bar) => t(`radio.map.${bar.kind}.word`, { label: bar.label }),
    },
    {
      key: 'low',
      title: t('radio.map.column.low'),
      isNumeric: true,
      cell: ({ low_mhz }) => mhzText(low_mhz),
      compare: (a, b) => a.low_mhz - b.low_mhz,
    },
    {
      key: 'high',
      title: t('radio.map.column.high'),
      isNumeric: true,
      cell: ({ high_mhz }) => mhzText(high_mhz),
      compare: (a, b) => a.high_mhz - b.high_mhz,
    },
  ]
  return (
    <DataTable
      label={t('radio.map.table')}
      rows={entries}
      columns={columns}
      keyOf={(entry) => `${entry.technology} ${entry.band} ${entry.key}`}
    />
  )
}

/** The three layers of the TX gate, with where each is set. */
const GATES = ['country_code', 'license_ack', 'allow_list'] as const

/** Whether it is on the air, what the three gates say and where each is opened, and Stop. */
function Gates({ state, country }: { readonly state: Tx | undefined; readonly country: string | undefined }) {
  if (state === undefined) return null
  return (
    <section class="card" aria-labelledby="radio-gates">
      <h2 id="radio-gates">{t('radio.gates')}</h2>
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
                {gate === 'country_code' ? (
                  t('radio.gate.country_code.where', { country: country ?? '' })
                ) : (
                  <a href="/rules">{t(`radio.gate.${gate}.where`)}</a>
                )}
              </p>
            </li>
          )
        })}
      </ul>
      <StopButton />
    </section>
  )
}

function sentenceOf(state: Tx): string {
  const profile = state.profile ?? ''
  if (state.transmitter === 'on') return t('radio.state.on', { profile })
  if (state.transmitter === 'unconfirmed') return t('radio.state.unconfirmed')
  return state.armed ? t('radio.state.armed', { profile }) : t('radio.state.off')
}

/** For the words of a radio that stays in its state. */
const LOOK_MS = 30_000
/** What speaks for the transmitter, beside the components of kind `ran`. */
const GATE = 'policy.tx-gate'

/** How the radio is, in its own words and those of its program. */
function RadioHealth() {
  const health = useQuery('/v1/health', {}, { on: ['health.*', 'tx.*', 'ran.*', 'node.*'], everyMs: LOOK_MS })
  if (health.data === undefined) return null
  const parts = health.data.components.filter(({ kind, name }) => kind === 'ran' || name === GATE)
  return (
    <section class="card" aria-labelledby="radio-health">
      <h2 id="radio-health">{t('radio.health')}</h2>
      {parts.length === 0 ? <EmptyState title={t('radio.health.none')} /> : null}
      <HealthList components={parts} />
    </section>
  )
}

/** What changes a profile, or what keeps it off the air. */
const CHANGES = { on: ['tx.*', 'policy.*', 'config.*'], everyMs: 30_000 } as const

/** The radio: whether it may send, on what, and what it says of itself. */
export function Page() {
  const profiles = useQuery('/v1/tx/profiles', {}, CHANGES)
  const ranges = useQuery('/v1/spectrum/ranges', {}, CHANGES)
  const error = profiles.error ?? ranges.error
  const rows = profiles.data?.profiles ?? []
  return (
    <>
      <h1>{t('radio.title')}</h1>
      {error === undefined ? null : (
        <ErrorNotice error={error} onRetry={profiles.error === undefined ? ranges.reload : profiles.reload} />
      )}
      <Gates state={tx.value} country={ranges.data?.country} />
      <RadioHealth />
      {profiles.data === undefined ? null : (
        <Profiles profiles={rows} country={ranges.data?.country ?? ''} ranges={ranges.data?.ranges ?? []} />
      )}
      {ranges.data === undefined ? null : <SpectrumMap ranges={ranges.data} profiles={rows} />}
      {may('operator') ? <CheckForm /> : null}
    </>
  )
}
