import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { t } from '../../text/index.ts'
import { Lamp } from '../../ui/lamp.tsx'

/** One step, and whether it is done. */
export function Step({
  title,
  isDone,
  children,
}: {
  readonly title: string
  readonly isDone: boolean
  readonly children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <p>
        <Lamp tone={isDone ? 'ok' : 'warn'} label={t(isDone ? 'start.done' : 'start.open')} />
      </p>
      {children}
    </section>
  )
}
