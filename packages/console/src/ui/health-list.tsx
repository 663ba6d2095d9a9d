import type { AnswerOf } from '@steeple/client'
import { componentText, named, t, word } from '../text/index.ts'
import { Notice } from './notice.tsx'
import { Lamp, Said, type Tone } from './parts.tsx'
import { clockText, Time } from './time.tsx'

/** A component of the health board. */
export type Component = AnswerOf<'GET', '/v1/health'>['components'][number]

/** Behind it are the words of a program that the service runs. */
const COMPLAINS = '; it complains: '

/** How components are, each in its own words and those of its program. */
export function HealthList({
  components,
  unknownSince,
}: {
  readonly components: readonly Component[]
  /** Since when nobody knows whether it still is so, RFC 3339; undefined while somebody does. */
  readonly unknownSince?: (component: Component) => string | undefined
}) {
  return (
    <ul class="plain">
      {components.map((component) => {
        const { name, status, detail, since } = component
        const [said = '', complaint] = detail.split(COMPLAINS)
        const unknown = unknownSince?.(component)
        if (unknown !== undefined)
          return (
            <li key={name}>
              <Lamp
                tone="none"
                label={t('ui.health.unknown', { name: componentText(name), time: clockText(unknown) })}
              />
            </li>
          )
        return (
          <li key={name}>
            <Lamp tone={healthTone(status)} label={named(componentText(name), word('ui.health', status))} />
            <p>
              <Said>{said}</Said>{' '}
              <span class="fine">
                {t('ui.health.changed')} <Time at={since} relative />
              </span>
            </p>
            {complaint === undefined ? null : (
              <Notice tone="warn">
                <p>{t('ui.health.complains')}</p>
                <pre>{complaint}</pre>
              </Notice>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** The light of a status of the health board. */
export function healthTone(status: string): Tone {
  if (status === 'ok') return 'ok'
  return status === 'down' ? 'bad' : 'warn'
}
