import { closedGates, GATES } from '../../app/kept-off.ts'
import { ifPage } from '../../app/pages-here.ts'
import { StopButton, type Tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Lamp } from '../../ui/lamp.tsx'

/** One sentence: on the air or not, because …; the lights of the three gates; Stop. */
export function Truth({ state }: { readonly state: Tx | undefined }) {
  if (state === undefined) return null
  return (
    <section class="card truth" aria-label={t('home.title')}>
      <p class="sentence">{sentenceOf(state)}</p>
      <ul class="gates">
        {GATES.map((gate) => (
          <li key={gate}>
            <Lamp
              tone={state.gates[gate] === 'set' ? 'ok' : 'bad'}
              label={`${t(`home.gate.${gate}`)}: ${t(state.gates[gate] === 'set' ? 'home.gate.set' : 'home.gate.missing')}`}
            />
          </li>
        ))}
      </ul>
      <div class="actions">
        <Ahead state={state} />
        <StopButton />
      </div>
    </section>
  )
}

/** Where what is missing is to be had. */
function Ahead({ state }: { readonly state: Tx }) {
  const isOpen = closedGates(state).length === 0
  const href = ifPage(isOpen ? '/radio' : state.gates.country_code === 'set' ? '/rules' : '/start')
  if (href === undefined || state.armed) return null
  const text = { '/radio': 'home.arm', '/rules': 'home.gates', '/start': 'home.setUp' } as const
  return <ButtonLink href={href}>{t(text[href as keyof typeof text])}</ButtonLink>
}

function sentenceOf(state: Tx): string {
  if (state.transmitter === 'on') return t('home.onAir')
  if (state.transmitter === 'unconfirmed') return t('home.unconfirmed')
  const missing = closedGates(state).map((gate) => t(`home.because.${gate}`))
  if (missing.length > 0) return t('home.offAir.gates', { reasons: missing.join(t('home.and')) })
  return t(state.armed ? 'home.offAir.armed' : 'home.offAir.ready')
}
