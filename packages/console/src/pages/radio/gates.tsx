import { StopButton, type Tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { Lamp } from '../../ui/lamp.tsx'

/** The three layers of the TX gate, with where each is set. */
const GATES = ['country_code', 'license_ack', 'allow_list'] as const

/** Whether it is on the air, what the three gates say and where each is opened, and Stop. */
export function Gates({
  state,
  country,
}: {
  readonly state: Tx | undefined
  readonly country: string | undefined
}) {
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
