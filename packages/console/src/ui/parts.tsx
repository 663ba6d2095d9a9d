import { type ComponentChildren, Fragment } from 'preact'
import { said } from '../text/index.ts'
import { Icon, type IconName } from './icon.tsx'
import { Time } from './time.tsx'

/** A part of a page, with its heading. `id`: what the heading is found by. */
export function Card({
  title,
  id,
  children,
}: {
  readonly title: string
  readonly id?: string
  readonly children: ComponentChildren
}) {
  return (
    <section class="card" {...(id === undefined ? { 'aria-label': title } : { 'aria-labelledby': id })}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

/** What stands where nothing is yet: why, and what to do to have something. */
export function EmptyState({
  title,
  children,
  action,
}: {
  readonly title: string
  readonly children?: ComponentChildren
  readonly action?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
      {action}
    </div>
  )
}

/** What is known of a thing: a term and what holds, each; those without a content are left out. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [term: string, content: ComponentChildren])[]
}) {
  return (
    <dl class="facts">
      {facts
        .filter(([, content]) => content !== undefined && content !== null && content !== '')
        .map(([term, content]) => (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd>{content}</dd>
          </Fragment>
        ))}
    </dl>
  )
}

/** How far something is: `value` of `max`; or, in the place of what comes, that it is on its way. */
export function Progress({
  label,
  value,
  max = 1,
}: {
  readonly label: string
  readonly value?: number
  readonly max?: number
}) {
  if (value !== undefined) return <progress aria-label={label} value={value} max={max} />
  return <div class="skeleton" role="progressbar" aria-label={label} />
}

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

/** A moment as the service writes it (RFC 3339, UTC). */
const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** What the service says in its own words, in the reader's language where somebody has written them. Moments in it are shown as people write them. */
export function Said({ children }: { readonly children: ComponentChildren }) {
  if (typeof children !== 'string') return <span lang="en">{children}</span>
  const { text, isWhole } = said(children)
  return (
    <span {...(isWhole ? {} : { lang: 'en' })}>
      {text.split(MOMENT).map((part, at) => (at % 2 === 0 ? part : <Time key={String(at)} at={part} />))}
    </span>
  )
}
