import { type ComponentChildren, Fragment } from 'preact'

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
