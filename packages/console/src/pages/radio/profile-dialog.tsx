import type { Problem } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { choices, t, word } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Dialog, FormDialog } from '../../ui/dialog.tsx'
import { Field, Select, useTyped } from '../../ui/field.tsx'
import { EmptyState, Lamp, Said } from '../../ui/parts.tsx'
import {
  bandRows,
  keepUnit,
  type Profile,
  type ProfileTyped,
  profileBody,
  type Range,
  typedBand,
  typedProfile,
} from './spectrum.ts'
import { Band } from './spectrum-map.tsx'

/** Whether a profile may be armed and sent, or all that speaks against it. */
export function Verdict({ profile: { closed, problems } }: { readonly profile: Profile }) {
  if (closed.length === 0 && problems.length === 0)
    return (
      <p>
        <Lamp tone="ok" label={t('radio.profile.open')} />
      </p>
    )
  return (
    <>
      <p>{t('radio.profile.closed')}</p>
      <ul class="reasons">
        {closed.map(({ gate, reason }) => (
          <li key={gate}>
            <strong>{word('radio.layer', gate)}</strong>: <Said>{reason}</Said>
          </li>
        ))}
        {problems.map((problem) => (
          <li key={problem}>
            <strong>{t('radio.title')}</strong>: <Said>{problem}</Said>
          </li>
        ))}
      </ul>
    </>
  )
}

interface DialogProps {
  /** The one that is changed; undefined: another one is made. */
  readonly profile: Profile | undefined
  readonly others: readonly Profile[]
  readonly ranges: readonly Range[]
  readonly country: string
  readonly onClose: () => void
}

/** Makes or changes a radio profile in a band that the allow-list has, and says at once what would refuse it. */
export function ProfileDialog({ profile, others, ranges, country, onClose }: DialogProps) {
  const own = ranges.filter((range) => range.country === country)
  const [first] = own
  if (first === undefined)
    return (
      <Dialog isOpen title={t('radio.profile.add')} onClose={onClose}>
        <EmptyState
          title={t('radio.map.none')}
          action={<ButtonLink href="/rules">{t('radio.map.rules')}</ButtonLink>}
        >
          {t('radio.form.noBand', { country })}
        </EmptyState>
      </Dialog>
    )
  return (
    <ProfileForm
      start={profile === undefined ? typedBand(first) : typedProfile(profile)}
      isNew={profile === undefined}
      {...{ others, ranges: own, country, onClose }}
    />
  )
}

function ProfileForm({
  start,
  isNew,
  others,
  ranges,
  country,
  onClose,
}: Omit<DialogProps, 'profile'> & { readonly start: ProfileTyped; readonly isNew: boolean }) {
  const { typed, setTyped, of } = useTyped(start)
  const [refused, setRefused] = useState<Problem>()
  const id = typed.id.trim()
  const isByMhz = typed.by === 'mhz'
  const isTaken = isNew && others.some((other) => other.id === id)
  const body = profileBody(typed)
  const put = (dryRun: boolean) =>
    api.put('/v1/tx/profiles/{id}', { path: { id }, query: { dry_run: dryRun }, body })
  return (
    <FormDialog
      title={isNew ? t('radio.profile.add') : t('radio.profile.edit.of', { id })}
      confirm={t('start.save')}
      what={t('radio.profile.add.what')}
      isDisabled={isTaken}
      error={refused}
      act={() => {
        keepUnit(typed.by)
        return put(false)
      }}
      done={t('radio.profile.saved', { id })}
      onClose={onClose}
    >
      <Field
        {...of('id')}
        text="radio.form.name"
        error={isTaken ? t('radio.form.name.taken') : undefined}
        pattern={NAME}
        maxLength={64}
        isDisabled={!isNew}
        isRequired
      />
      <Select
        {...of('band')}
        label={t('radio.ask.band')}
        onChange={(band) => {
          const range = ranges.find((one) => `${one.technology} ${one.band}` === band)
          if (range !== undefined) setTyped({ ...typedBand(range), id: typed.id })
        }}
        options={[...new Set([...ranges.map((one) => `${one.technology} ${one.band}`), start.band])].map(
          (value) => ({ value, label: bandName(value) }),
        )}
      />
      <div class="pair">
        <Select {...of('by')} text="radio.form.by" options={choices('radio.form.by', ['mhz', 'channel'])} />
        <Field
          {...of(isByMhz ? 'frequency_mhz' : 'channel')}
          text={isByMhz ? 'radio.form.mhz' : 'radio.form.channel'}
          inputMode="decimal"
          isRequired
        />
        <Field {...of('bandwidth_mhz')} label={t('radio.ask.width')} inputMode="decimal" isRequired />
        <Field
          {...of('eirp_dbm')}
          label={`${t('radio.carrier.power')}, dBm`}
          help={t('radio.form.power.help')}
          inputMode="decimal"
        />
        <Field {...of('tx_gain_db')} text="radio.form.txGain" inputMode="decimal" />
        <Field {...of('rx_gain_db')} text="radio.form.rxGain" inputMode="decimal" />
      </div>
      <DryRun
        key="dry"
        request={JSON.stringify([id, body])}
        ask={() => put(true)}
        onRefused={setRefused}
        ranges={ranges}
        country={country}
      />
    </FormDialog>
  )
}

function bandName(value: string): string {
  const [technology = '', band = ''] = value.split(' ')
  return `${word('radio.technology', technology)} ${band}`
}

/** What the service takes as the name of a profile. */
const NAME = '[a-z0-9][a-z0-9_\\-]*'

/** From the last key until it is asked, ms. */
const TYPING_MS = 300

/** What the gate and the radio would say of what is typed, with the picture of its band. */
function DryRun({
  request,
  ask,
  onRefused,
  ranges,
  country,
}: {
  readonly request: string
  readonly ask: () => ReturnType<typeof api.put<'/v1/tx/profiles/{id}'>>
  /** Why the service would not take it; undefined: it would. */
  readonly onRefused: (problem: Problem | undefined) => void
  readonly ranges: readonly Range[]
  readonly country: string
}) {
  const [judged, setJudged] = useState<Profile>()
  useEffect(() => {
    let isOld = false
    const [id, body] = JSON.parse(request) as readonly [string, { readonly bandwidth_mhz?: number }]
    if (!new RegExp(`^${NAME}$`).test(id) || body.bandwidth_mhz === undefined) return undefined
    const timer = setTimeout(async () => {
      const answer = await ask()
      if (isOld) return
      setJudged(answer.ok ? answer.data : undefined)
      onRefused(answer.ok ? undefined : answer.error)
    }, TYPING_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [request])
  if (judged === undefined) return null
  const row = bandRows({ country, ranges: [...ranges] }, [judged]).find((one) =>
    one.bars.some(({ kind }) => kind === 'carrier'),
  )
  return (
    <>
      {row === undefined ? null : <Band row={row} />}
      <Verdict profile={judged} />
    </>
  )
}
