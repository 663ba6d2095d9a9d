import type { ComponentChildren } from 'preact'

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
