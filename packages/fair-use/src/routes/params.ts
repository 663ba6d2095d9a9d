import { type ImsiHash, type JsonSchema, type SubscriberView, simNotFound } from '@steeple/contracts'
import type { FairUseParts } from '../parts.ts'

/** The parameter of the routes of one SIM. */
export interface SimParams {
  readonly imsi: ImsiHash
}

/** An octet count of a request body. */
export const BYTES_SCHEMA: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

/** The subscriber of a hash. Throws `sim_not_found`. */
export async function knownSim({ subscribers }: FairUseParts, imsi: ImsiHash): Promise<SubscriberView> {
  const view = await subscribers.find(imsi)
  if (view === undefined) throw simNotFound(imsi)
  return view
}
