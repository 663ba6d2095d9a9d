import { signal } from '@preact/signals'
import { t } from '../text/index.ts'
import { Button } from './button.tsx'
import type { Tone } from './lamp.tsx'

/** What has just been done. */
export interface Told {
  readonly text: string
  readonly tone?: Tone
  /** Takes it back, where the API can. */
  readonly undo?: () => void
}

const SHOWN_MS = 8_000
const told = signal<readonly (Told & { readonly id: number })[]>([])
let count = 0

/** Says at the edge of the screen what was done, for a while, with a way back where there is one. */
export function toast(what: Told): void {
  count += 1
  const id = count
  told.value = [...told.value, { ...what, id }]
  setTimeout(() => dismiss(id), SHOWN_MS)
}

/** Where toasts are. One is in the frame of all pages. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {told.value.map(({ id, text, tone = 'ok', undo }) => (
        <div key={id} class={`toast ${tone}`}>
          <span>{text}</span>
          {undo === undefined ? null : (
            <Button
              kind="quiet"
              onClick={() => {
                dismiss(id)
                undo()
              }}
            >
              {t('ui.undo')}
            </Button>
          )}
          <Button kind="quiet" label={t('ui.close')} onClick={() => dismiss(id)}>
            ×
          </Button>
        </div>
      ))}
    </div>
  )
}

function dismiss(id: number): void {
  told.value = told.value.filter((one) => one.id !== id)
}
