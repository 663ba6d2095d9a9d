import './radio.css'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { tx } from '../../app/transmitter.tsx'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Checkbox, toggled } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { EmptyState, Facts, Lamp, Said } from '../../ui/parts.tsx'
import { Time } from '../../ui/time.tsx'
import { followArm } from './follow-arm.ts'
import { ProfileDialog, Verdict } from './profile-dialog.tsx'
import { isWithin, mhzText, type Profile, type Range, spanText } from './spectrum.ts'

/** What somebody has to look at before it sends, in this order. The first three are layers of the gate. */
const STEPS = ['country-code', 'license', 'allow-list', 'antenna'] as const
type Step = (typeof STEPS)[number]

/** The checklist before a profile goes on the air: each point is ticked, and none that is not true can be. */
function ArmDialog({
  profile,
  ranges,
  country,
  onClose,
}: {
  readonly profile: Profile
  readonly ranges: readonly Range[]
  readonly country: string
  readonly onClose: () => void
}) {
  const [ticked, setTicked] = useState<ReadonlySet<Step>>(new Set())
  const closedBy = (step: Step): string | undefined =>
    profile.closed.find(({ gate }) => gate === step)?.reason
  const isDone = STEPS.every((step) => ticked.has(step) && closedBy(step) === undefined)
  return (
    <FormDialog
      text="radio.arm"
      values={{ id: profile.id }}
      isDanger
      isDisabled={!isDone}
      act={() => api.post('/v1/tx/arm', { body: { arm: true, profile_id: profile.id } })}
      onDone={(armed) => {
        tx.value = armed
        followArm(profile.id)
        onClose()
      }}
      onClose={onClose}
    >
      <Carrier profile={profile} />
      {profile.fallback?.kind === 'none' ? (
        <Notice tone="warn">
          <p>{t('radio.fallback.warn')}</p>
        </Notice>
      ) : null}
      <DryRun id={profile.id} />
      <ol class="checklist">
        {STEPS.map((step) => (
          <li key={step}>
            <Point
              step={step}
              closed={closedBy(step)}
              isTicked={ticked.has(step)}
              onTick={() => setTicked(toggled(ticked, step))}
              help={helpOf(step, profile, ranges, country)}
            />
            {step === 'license' ? <License /> : null}
          </li>
        ))}
      </ol>
    </FormDialog>
  )
}

function Point({
  step,
  closed,
  isTicked,
  onTick,
  help,
}: {
  readonly step: Step
  readonly closed: string | undefined
  readonly isTicked: boolean
  readonly onTick: () => void
  readonly help: string
}) {
  const label = t(`radio.check.${step}`)
  if (closed === undefined)
    return <Checkbox label={label} help={help} isChecked={isTicked} onChange={onTick} />
  return (
    <>
      <Checkbox label={label} isChecked={false} isDisabled onChange={onTick} />
      <Notice tone="bad">
        <p>{closed}</p>
        <a href={step === 'country-code' ? '/start' : '/rules'}>{t('radio.check.mend')}</a>
      </Notice>
    </>
  )
}

/** Whose licence it is, as the rules have it: to be compared with the paper. */
function License() {
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const license = policy.data?.spectrum.license
  if (license?.acknowledged !== true) return null
  return (
    <Facts
      facts={[
        [t('radio.license.reference'), license.reference ?? '–'],
        [t('radio.license.holder'), license.holder ?? '–'],
        [
          t('radio.license.expires'),
          license.expires_at === null ? t('radio.license.forever') : <Time at={license.expires_at} />,
        ],
      ]}
    />
  )
}

function helpOf(step: Step, profile: Profile, ranges: readonly Range[], country: string): string {
  if (step === 'country-code') return t('radio.check.country-code.help', { country })
  if (step === 'license') return t('radio.check.license.help')
  if (step === 'allow-list')
    return t('radio.check.allow-list.help', { entry: entryOf(profile, ranges, country) })
  return profile.eirp_dbm === null
    ? t('radio.check.antenna.unknown')
    : t('radio.check.antenna.help', { power: profile.eirp_dbm })
}

/** The entry that the carrier lies in, in MHz. */
function entryOf({ technology, downlink }: Profile, ranges: readonly Range[], country: string): string {
  const spans = ranges.flatMap(({ low_mhz, high_mhz, ...range }) =>
    low_mhz === null || high_mhz === null || range.technology !== technology || range.country !== country
      ? []
      : [{ low_mhz, high_mhz }],
  )
  const found = downlink === null ? undefined : spans.find((span) => isWithin(downlink, span))
  return found === undefined ? '–' : spanText(found)
}

/** Every profile: its carrier, what keeps it off the air, and how to put it there. */
export function Profiles({
  profiles,
  ranges,
  country,
}: {
  readonly profiles: readonly Profile[]
  readonly ranges: readonly Range[]
  readonly country: string
}) {
  const [armed, setArmed] = useState<string>()
  /** The one that is changed; `null`: another one is made. */
  const [edited, setEdited] = useState<Profile | null>()
  const [removed, setRemoved] = useState<string>()
  const chosen = profiles.find(({ id }) => id === armed)
  const add = may('sim:admin') ? (
    <Button onClick={() => setEdited(null)}>{t('radio.profile.add')}</Button>
  ) : undefined
  return (
    <section aria-labelledby="radio-profiles">
      <h2 id="radio-profiles">{t('radio.profiles')}</h2>
      {profiles.length === 0 ? (
        <EmptyState title={t('radio.profiles.none')} {...(add === undefined ? {} : { action: add })}>
          {t('radio.profiles.none.help')}
        </EmptyState>
      ) : null}
      <div class="cards">
        {profiles.map((profile) => (
          <ProfileCard
            key={profile.id}
            profile={profile}
            onArm={() => setArmed(profile.id)}
            onEdit={() => setEdited(profile)}
            onRemove={() => setRemoved(profile.id)}
          />
        ))}
      </div>
      {profiles.length === 0 || add === undefined ? null : <p class="toolbar">{add}</p>}
      {edited === undefined ? null : (
        <ProfileDialog
          profile={edited ?? undefined}
          others={profiles}
          ranges={ranges}
          country={country}
          onClose={() => setEdited(undefined)}
        />
      )}
      {removed === undefined ? null : (
        <FormDialog
          text="radio.profile.remove"
          values={{ id: removed }}
          act={() => api.delete('/v1/tx/profiles/{id}', { path: { id: removed } })}
          onClose={() => setRemoved(undefined)}
        />
      )}
      {chosen === undefined ? null : (
        <ArmDialog
          key={chosen.id}
          profile={chosen}
          ranges={ranges}
          country={country}
          onClose={() => setArmed(undefined)}
        />
      )}
    </section>
  )
}

interface CardProps {
  readonly profile: Profile
  readonly onArm: () => void
  readonly onEdit: () => void
  readonly onRemove: () => void
}

/** What is done with a profile beside arming it, or why that cannot be done here. */
function Care({ profile: { id, armed, source }, onEdit, onRemove }: Omit<CardProps, 'onArm'>) {
  if (source === 'file') return <p class="fine">{t('radio.profile.file')}</p>
  if (armed) return <p class="fine">{t('radio.profile.stopFirst')}</p>
  return (
    <div class="toolbar">
      <Button onClick={onEdit} label={t('radio.profile.edit.of', { id })}>
        {t('radio.profile.edit')}
      </Button>
      <Button kind="quiet" onClick={onRemove} label={t('radio.profile.remove.of', { id })}>
        {t('radio.profile.remove')}
      </Button>
    </div>
  )
}

function ProfileCard({ profile, onArm, ...care }: CardProps) {
  const isOther = tx.value?.armed === true && !profile.armed
  return (
    <article class="card" aria-label={t('radio.profile', { id: profile.id })}>
      <h3>{profile.id}</h3>
      {profile.armed ? <Lamp tone="on" label={t('radio.profile.armed')} /> : null}
      <Carrier profile={profile} />
      <Verdict profile={profile} />
      {may('sim:admin') && !profile.armed ? (
        <Button
          kind="primary"
          onClick={onArm}
          isDisabled={isOther}
          label={t('radio.arm.of', { id: profile.id })}
        >
          {t('radio.arm')}
        </Button>
      ) : null}
      {isOther && may('sim:admin') ? <p class="fine">{t('radio.profile.other')}</p> : null}
      {may('sim:admin') ? <Care profile={profile} {...care} /> : null}
    </article>
  )
}

/** The carrier of a profile in MHz and channels. */
function Carrier({ profile }: { readonly profile: Profile }) {
  const { downlink, uplink, technology, band, channel, fallback } = profile
  return (
    <Facts
      facts={[
        [
          t('radio.carrier.channel'),
          `${word('radio.technology', technology)} ${channel} ${band === null ? '' : `(${band})`}`,
        ],
        [t('radio.carrier.down'), downlink === null ? t('radio.carrier.unknown') : spanText(downlink)],
        [t('radio.carrier.up'), uplink === null ? t('radio.carrier.none') : spanText(uplink)],
        [t('radio.carrier.width'), mhzText(profile.bandwidth_mhz)],
        [
          t('radio.carrier.power'),
          profile.eirp_dbm === null ? t('radio.carrier.power.none') : `${profile.eirp_dbm} dBm`,
        ],
        [t('radio.fallback'), fallback && word('radio.fallback', fallback.kind)],
      ]}
    />
  )
}

/** What an arm of a profile would start: the checks before it, and the files that would be written. */
export function DryRun({ id }: { readonly id: string }) {
  const { data, error, reload } = useQuery('/v1/tx/profiles/{id}/dry-run', { path: { id } })
  if (error !== undefined) return <ErrorNotice error={error} onRetry={reload} />
  if (data === undefined) return null
  if (data.program === null) return <p class="fine">{t('radio.dry.none')}</p>
  return (
    <section aria-label={t('radio.dry')}>
      <h3>{t('radio.dry')}</h3>
      <ul class="reasons">
        {data.checks.map(({ check, problems }) => (
          <li key={check}>
            <Lamp tone={problems.length === 0 ? 'ok' : 'bad'} label={word('radio.dry.check', check)} />
            {problems.map((problem) => (
              <p key={problem}>
                <Said>{problem}</Said>
              </p>
            ))}
          </li>
        ))}
      </ul>
      {data.files.length === 0 ? null : (
        <details>
          <summary>{t('radio.dry.files', { program: data.program })}</summary>
          {data.files.map(({ name, text }) => (
            <figure key={name}>
              <figcaption>{name}</figcaption>
              <pre>{text}</pre>
            </figure>
          ))}
        </details>
      )}
    </section>
  )
}
