import { useState } from 'preact/hooks'
import { may } from '../../api/session.ts'
import { tx } from '../../app/transmitter.tsx'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Said } from '../../ui/said.tsx'
import { ArmDialog } from './arm-dialog.tsx'
import { Carrier } from './carrier.tsx'
import type { Profile, Range } from './spectrum.ts'

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
  const [armed, setArmed] = useState<string | undefined>(undefined)
  const chosen = profiles.find(({ id }) => id === armed)
  return (
    <section aria-labelledby="radio-profiles">
      <h2 id="radio-profiles">{t('radio.profiles')}</h2>
      {profiles.length === 0 ? (
        <EmptyState title={t('radio.profiles.none')}>{t('radio.profiles.none.help')}</EmptyState>
      ) : null}
      <div class="cards">
        {profiles.map((profile) => (
          <ProfileCard key={profile.id} profile={profile} onArm={() => setArmed(profile.id)} />
        ))}
      </div>
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

function ProfileCard({ profile, onArm }: { readonly profile: Profile; readonly onArm: () => void }) {
  const isOther = tx.value?.armed === true && !profile.armed
  return (
    <article class="card" aria-label={t('radio.profile', { id: profile.id })}>
      <h3>{profile.id}</h3>
      {profile.armed ? <Lamp tone="on" label={t('radio.profile.armed')} /> : null}
      <Carrier profile={profile} />
      {profile.closed.length === 0 ? (
        <p>
          <Lamp tone="ok" label={t('radio.profile.open')} />
        </p>
      ) : (
        <>
          <p>{t('radio.profile.closed')}</p>
          <ul class="reasons">
            {profile.closed.map(({ gate, reason }) => (
              <li key={gate}>
                <strong>{word('radio.layer', gate)}</strong>: <Said>{reason}</Said>
              </li>
            ))}
          </ul>
        </>
      )}
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
    </article>
  )
}
