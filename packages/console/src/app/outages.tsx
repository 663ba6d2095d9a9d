import { signal } from '@preact/signals'
import type { AnswerOf } from '@steeple/client'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../api/use-query.ts'
import { named, t, word } from '../text/index.ts'
import { Lamp } from '../ui/parts.tsx'
import { type Incident, nameOf } from './incidents.tsx'
import { path } from './router.ts'

/** The outages of now, for whatever shows what they make untrue. */
export const outages = signal<readonly Incident[]>([])

/** Keeps `outages`, and shows them above each page but the one that begins with them. */
export function OutageStrip() {
  const { data } = useQuery('/v1/health', {}, { on: ['health.*', 'incident.*'], everyMs: 30_000 })
  useEffect(() => {
    if (data !== undefined) outages.value = data.incidents
  }, [data])
  const [first, ...others] = outages.value
  if (first === undefined || path.value === '/') return null
  const { severity, phones_off } = first
  return (
    <a class="outage" href="/">
      <Lamp
        tone={severity === 'critical' ? 'bad' : 'warn'}
        label={[
          `${named(word('incident.severity', severity), nameOf(first))}.`,
          phones_off === null ? '' : t('incident.phonesOff', { count: phones_off }),
          others.length === 0 ? '' : t('incident.others', { others: others.length }),
        ]
          .filter((part) => part !== '')
          .join(' ')}
      />
    </a>
  )
}

/** The outage since when nobody knows how the core and its radios are; undefined while somebody does. */
export function coreOutage(incidents: readonly Incident[] = outages.value): Incident | undefined {
  return incidents.find(({ kind, severity }) => kind === 'no_core' && severity === 'critical')
}

/** The outage in which no phone has a radio, whatever the core still counts. */
export function radioOutage(incidents: readonly Incident[] = outages.value): Incident | undefined {
  return incidents.find(
    ({ kind, severity }) =>
      severity === 'critical' && ['no_radio', 'radio_refused', 'no_radio_power'].includes(kind),
  )
}

/** Since when what a component says of itself is not known any more: its last answer is older than the outage. RFC 3339. */
export function unknownSince({
  name,
  kind,
  status,
}: {
  readonly name: string
  readonly kind: string
  readonly status: string
}): string | undefined {
  if (status !== 'ok') return undefined
  const core = coreOutage()
  const [plugin = ''] = core?.component.split('.', 1) ?? []
  if (core !== undefined && (kind === 'ran' || name.startsWith(`${plugin}.`))) return core.since
  const radio = radioOutage()
  return radio !== undefined && name.endsWith('.sessions') ? radio.since : undefined
}

/** Whether this is a lab with its core: a new box without a core has no subscriber database either. */
export function hasLabCore({ mode, components }: AnswerOf<'GET', '/v1/status'>): boolean {
  return mode === 'lab' && components.every(({ kind, status }) => kind !== 'hss' || status === 'ok')
}
