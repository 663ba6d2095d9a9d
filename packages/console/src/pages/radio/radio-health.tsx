import { useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'

const LOOK_MS = 5_000
/** What the components of the transmitter are called, beside those of kind `ran`. */
const GATE = 'policy.tx-gate'
/** Behind it are the words of the radio's program itself. */
const COMPLAINS = '; it complains: '

/** How the radio is, in its own words and those of its program. */
export function RadioHealth() {
  const health = useQuery('/v1/health', {}, { on: ['tx.*', 'ran.*', 'node.*'], everyMs: LOOK_MS })
  const parts = (health.data?.components ?? []).filter(({ kind, name }) => kind === 'ran' || name === GATE)
  if (health.data === undefined) return null
  return (
    <section class="card" aria-labelledby="radio-health">
      <h2 id="radio-health">{t('radio.health')}</h2>
      {parts.length === 0 ? <EmptyState title={t('radio.health.none')} /> : null}
      <ul class="plain">
        {parts.map(({ name, status, detail, since }) => {
          const [said = '', complaint] = detail.split(COMPLAINS)
          return (
            <li key={name}>
              <Lamp
                tone={toneOf(status)}
                label={t('radio.health.part', { name, status: word('radio.status', status) })}
              />
              <p>
                {said}{' '}
                <span class="fine">
                  {t('radio.health.since')} <Time at={since} relative />
                </span>
              </p>
              {complaint === undefined ? null : (
                <Notice tone="warn">
                  <p>{t('radio.health.complains')}</p>
                  <pre>{complaint}</pre>
                </Notice>
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function toneOf(status: string): Tone {
  if (status === 'ok') return 'ok'
  return status === 'down' ? 'bad' : 'warn'
}
