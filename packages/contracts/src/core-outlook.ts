import { countText } from './count-text.ts'
import { type JsonSchema, recordSchema } from './json-schema.ts'
import type { CoreOutlook } from './service-shapes.ts'

const TEXTS: JsonSchema = { type: 'array', items: { type: 'string' } }

/** What a change does to the core, as answers say it; null: nothing. */
export const CORE_OUTLOOK_SCHEMA: JsonSchema = {
  ...recordSchema({
    restarts: { ...TEXTS, description: 'Daemons, in that order.' },
    subscribers_dropped: {
      type: ['integer', 'null'],
      description: 'Phones that lose the network by it; null when the core does not tell.',
    },
    expected_s: { type: ['integer', 'null'] },
    notes: TEXTS,
    problems: TEXTS,
  }),
  type: ['object', 'null'],
  description: 'What it does to the core that the service drives. null: nothing.',
}

/** The same of an outlook. */
export function coreOutlookRecord(outlook: CoreOutlook | undefined): object | null {
  if (outlook === undefined) return null
  const { restarts, dropped, expectedS, notes, problems } = outlook
  return { restarts, subscribers_dropped: dropped ?? null, expected_s: expectedS ?? null, notes, problems }
}

/** Which daemons restart, and how many phones that cuts off; null: the core does not tell. */
export function cutWords(daemons: readonly string[], dropped: number | null): string {
  const phones = dropped === null ? 'an unknown number of phones' : countText(dropped, 'phone')
  return `${daemons.join(', ')} ${daemons.length === 1 ? 'restarts' : 'restart'}, which cuts off ${phones}`
}

/** As far as an answer by `CORE_OUTLOOK_SCHEMA` says what a change costs. */
interface CoreCost {
  readonly restarts: readonly string[]
  readonly subscribers_dropped: number | null
  readonly problems: readonly string[]
}

/** Whether the core could not be looked at, so that what a change costs is not known. */
export function isCostUnknown({ restarts, subscribers_dropped: dropped, problems }: CoreCost): boolean {
  return restarts.length === 0 && dropped === null && problems.length > 0
}
