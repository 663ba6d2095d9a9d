import { Icon } from './icon.tsx'
import type { IconName } from './icons.ts'

/** How something stands: well, to be looked at, badly, working (`on`: the accent), or nothing of it. */
export type Tone = 'ok' | 'warn' | 'bad' | 'on' | 'none'

/** A shape for each, for eyes that tell no red from green. */
const SHAPES: Readonly<Record<Tone, IconName>> = {
  ok: 'circle-check',
  warn: 'triangle-alert',
  bad: 'octagon-alert',
  on: 'circle-dot',
  none: 'circle',
}

/** The shape of a tone, beside words that say it. */
export function Shape({ tone }: { readonly tone: Tone }) {
  return <Icon name={SHAPES[tone]} tone={`shape ${tone}`} />
}

/** A light with words: never by its colour alone. */
export function Lamp({ tone, label }: { readonly tone: Tone; readonly label: string }) {
  return (
    <span class="lamp">
      <Shape tone={tone} />
      {label}
    </span>
  )
}
