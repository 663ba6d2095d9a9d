import type { SessionSighting, Volume } from '@steeple/contracts'
import * as assert from 'uvu/assert'
import { isCount } from './common.ts'

/** How far what a collector says may be from the clock, ms. */
const SKEW_MS = 60_000

/** Says what is wrong with a sighting that was made now. */
export function wellFormedSighting(sighting: SessionSighting, nowMs: number): void {
  assert.match(sighting.imsi, /^[0-9a-f]{12}$/)
  assert.ok(sighting.apn.length > 0 && sighting.reference.length > 0, 'APN and reference must be named')
  assert.ok(['active', 'idle', 'ended'].includes(sighting.state))
  assert.ok(['lte', 'nr'].includes(sighting.technology))
  if (sighting.plmn !== undefined) assert.match(sighting.plmn, /^\d{3}-\d{2,3}$/)
  if (sighting.address !== undefined) assert.match(sighting.address, /^\d+(\.\d+){3}$/)
  if (sighting.prefix !== undefined) assert.match(sighting.prefix, /^[0-9a-f:]+\/\d+$/)
  assert.ok(isCount(sighting.seenAtMs), 'seenAtMs must be ms since the epoch')
  assert.ok(Math.abs(sighting.seenAtMs - nowMs) <= SKEW_MS, 'seenAtMs must be the time of the look')
  const { startedAtMs } = sighting
  if (startedAtMs !== undefined)
    assert.ok(isCount(startedAtMs) && startedAtMs <= nowMs + SKEW_MS, 'no session begins in the future')
}

/** Says what is wrong with a volume of a span that has passed. */
export function wellFormedVolume(volume: Volume, nowMs: number): void {
  assert.ok(isCount(volume.upBytes) && isCount(volume.downBytes), 'octets must be counts')
  assert.ok(isCount(volume.fromMs) && isCount(volume.toMs), 'a span must be ms since the epoch')
  assert.ok(volume.fromMs <= volume.toMs && volume.toMs <= nowMs + SKEW_MS, 'a span must have passed')
  const { key, count } = volume
  if (key.by === 'imsi') assert.match(key.imsi, /^[0-9a-f]{12}$/)
  else if (key.by === 'address') assert.match(key.address, /^(\d+(\.\d+){3}|[0-9a-f:]+\/\d+)$/)
  else assert.ok(key.by === 'session' && key.reference.length > 0, 'a volume must say whose it is')
  if (count !== 'delta') assert.ok(count.counter.length > 0 && count.generation.length > 0)
}
