import type { ComponentChildren } from 'preact'

/** What the service says in its own words: they are English, whatever the reader's language is. */
export function Said({ children }: { readonly children: ComponentChildren }) {
  return <span lang="en">{children}</span>
}
