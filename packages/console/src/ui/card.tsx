import type { ComponentChildren } from 'preact'

/** A part of a page, with its heading. */
export function Card({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
