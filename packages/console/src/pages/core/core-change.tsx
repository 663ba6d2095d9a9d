import type { ComponentChild, ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { usePanels } from '../../app/plugin-pages.tsx'

/** What of the core's settings would be otherwise. */
export interface CoreChange {
  readonly mcc?: string
  readonly mnc?: string
  /** With commas between them. */
  readonly apns?: string
}

/** Shows what a change would do to the core, before it is made; says when that stands there. */
type Effect = ComponentType<{ readonly change: CoreChange; readonly onKnown?: () => void }>

/** A look at what a change does to the core, before it is made. */
interface LookFirst {
  /** Whether anything can show it; undefined while that is not known. */
  readonly canLook: boolean | undefined
  /** Whether exactly this change was looked at. */
  readonly isLooked: boolean
  /** The effect does not stand there yet, or it is not known whether any will. */
  readonly isWaiting: boolean
  /** The effect, once it was asked for. */
  readonly effect: ComponentChild
  look(): void
  leave(): void
}

/** Of another change, which is to be looked at anew, nothing is shown; of none, nothing ever. */
export function useLookFirst(change: CoreChange | undefined): LookFirst {
  const [looked, setLooked] = useState<string>()
  const [known, setKnown] = useState<string>()
  const panels = usePanels<{ readonly Panel: Effect }>('core.change')
  const Effect = panels?.[0]?.Panel
  const key = change && JSON.stringify(change)
  const isLooked = Effect !== undefined && key !== undefined && looked === key
  return {
    canLook: change === undefined ? false : panels && Effect !== undefined,
    isLooked,
    isWaiting: change !== undefined && (panels === undefined || (isLooked && known !== key)),
    effect: isLooked && change ? <Effect key={key} change={change} onKnown={() => setKnown(key)} /> : null,
    look: () => setLooked(key),
    leave: () => {
      setLooked(undefined)
      setKnown(undefined)
    },
  }
}
