import type { ComponentChildren } from 'preact'
import { Time } from './time.tsx'

/** A moment as the service writes it (RFC 3339, UTC). */
const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** What the service says in its own words: they are English, whatever the reader's language is. Moments in it are shown as people write them. */
export function Said({ children }: { readonly children: ComponentChildren }) {
  return (
    <span lang="en">
      {typeof children === 'string'
        ? children
            .split(MOMENT)
            .map((part, at) => (at % 2 === 0 ? part : <Time key={String(at)} at={part} />))
        : children}
    </span>
  )
}
