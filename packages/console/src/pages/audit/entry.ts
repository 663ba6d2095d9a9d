import type { ItemOf } from '@steeple/client'
import { word } from '../../text/index.ts'
import type { Tone } from '../../ui/lamp.tsx'

/** An entry of the trail. */
export type Entry = ItemOf<'/v1/audit'>

/** A principal as people say it: the name, or what it is. */
export function whoText({ kind, name }: Entry['principal']): string {
  return name === '' || name === kind ? word('audit.kind', kind) : name
}

/** The colour of an outcome. */
export function toneOf(outcome: string): Tone {
  if (outcome === 'ok') return 'ok'
  return outcome === 'denied' ? 'warn' : 'bad'
}
