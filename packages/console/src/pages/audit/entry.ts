import type { ItemOf } from '@steeple/client'
import type { Tone } from '../../ui/lamp.tsx'

/** An entry of the trail. */
export type Entry = ItemOf<'/v1/audit'>

/** The colour of an outcome. */
export function toneOf(outcome: string): Tone {
  if (outcome === 'ok') return 'ok'
  return outcome === 'denied' ? 'warn' : 'bad'
}
