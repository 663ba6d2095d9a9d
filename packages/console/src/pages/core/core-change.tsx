import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { usePanels } from '../../app/plugin-pages.tsx'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'

/** What of the core's settings would be otherwise. */
export interface CoreChange {
  readonly mcc?: string
  readonly mnc?: string
  /** With commas between them. */
  readonly apns?: string
}

/** Shows what a change would do to the core, before it is made; says when that stands there. */
type Effect = ComponentType<{ readonly change: CoreChange; readonly onKnown?: () => void }>

/** What can show the effect of a change on the core; undefined while it is not known whether anything can. */
export function useCoreEffect(): { readonly Effect: Effect | undefined } | undefined {
  const panels = usePanels<{ readonly Panel: Effect }>('core.change')
  return panels && { Effect: panels[0]?.Panel }
}

/** A button that shows what a change does to the core, and that until another one is typed. */
export function AskCore({ change }: { readonly change: CoreChange }) {
  const [asked, setAsked] = useState<string | undefined>(undefined)
  const Effect = useCoreEffect()?.Effect
  const key = JSON.stringify(change)
  if (Effect === undefined) return null
  if (asked === key) return <Effect key={key} change={change} />
  return <Button onClick={() => setAsked(key)}>{t('core.whatIf.look')}</Button>
}
