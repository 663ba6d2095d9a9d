import { createElement } from 'preact'
import * as icons from './icons.ts'

const ICONS = { ...icons }

/** An icon that the console has. */
export type IconName = keyof typeof ICONS

/** What an unknown name stands for: a plugin may be younger than the console. */
export function iconOf(name: string): IconName {
  return Object.hasOwn(ICONS, name) ? (name as IconName) : 'puzzle'
}

/** A small picture beside a text that says the same; alone, what holds it has a label. */
export function Icon({ name, tone = '' }: { readonly name: IconName; readonly tone?: string }) {
  // This one is filled, so what is within comes last.
  const parts = name === 'octagon-alert' ? ICONS[name].toReversed() : ICONS[name]
  return (
    <svg class={`icon ${tone}`} viewBox="0 0 24 24" aria-hidden="true">
      {parts.map(([tag, attributes], index) => createElement(tag, { ...attributes, key: index } as never))}
    </svg>
  )
}
