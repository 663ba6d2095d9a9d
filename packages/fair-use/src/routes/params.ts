import {
  type ImsiHash,
  type JsonSchema,
  objectSchema,
  type SubscriberView,
  simNotFound,
} from '@steeple/contracts'
import type { FairUseParts } from '../parts.ts'

/** The parameter of the routes of one SIM. */
export interface SimParams {
  readonly imsi: ImsiHash
}

/** Schema of the parameter `{imsi}`. */
export const HASH_PARAMS: JsonSchema = objectSchema(
  {
    imsi: {
      type: 'string',
      pattern: '^[0-9a-f]{12}$',
      description: 'The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself.',
    },
  },
  ['imsi'],
)

/** An octet count of a request body. */
export const BYTES_SCHEMA: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

/** The subscriber of a hash. Throws `sim_not_found`. */
export async function knownSim({ subscribers }: FairUseParts, imsi: ImsiHash): Promise<SubscriberView> {
  const view = await subscribers.find(imsi)
  if (view === undefined) throw simNotFound(imsi)
  return view
}
