import { createElement } from 'preact'
import { ICONS, type IconName } from './icons.ts'

/** A small picture beside a text that says the same; alone, what holds it has a label. */
export function Icon({ name, tone = '' }: { readonly name: IconName; readonly tone?: string }) {
  return (
    <svg class={`icon ${tone}`} viewBox="0 0 24 24" aria-hidden="true">
      {ICONS[name].map(([tag, attributes], index) =>
        createElement(tag, { ...attributes, key: index } as never),
      )}
    </svg>
  )
}
