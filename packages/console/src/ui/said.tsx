import type { ComponentChildren } from 'preact'
import { said } from '../text/index.ts'
import { Time } from './time.tsx'

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
