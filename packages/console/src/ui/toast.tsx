import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { t } from '../text/index.ts'
import { Button } from './button.tsx'
import { Shape, type Tone } from './parts.tsx'

export interface Told {
  readonly text: string
  readonly tone?: Tone
  /** What it is about: a later one about the same takes its place. */
  readonly about?: string
  /** Takes it back, where the API can. */
  readonly undo?: () => void
}

const SHOWN_MS = 8_000
/** Of what can be taken back: time to read it, and to think again. */
const UNDO_SHOWN_MS = 20_000
const told = signal<readonly (Told & { readonly id: number })[]>([])
let count = 0

/** Says at the edge of the screen what was done, for a while, with a way back where there is one. */
export function toast(what: Told): {
  /** Says what has come of it since, at the same place; once more where it has gone already. */
  readonly change: (text: string, tone: Tone) => void
} {
  count += 1
  const id = count
  const { about } = what
  if (about !== undefined) for (const one of told.value) if (one.about === about) dismiss(one.id)
  const show = (now: Told): void => {
    const isShown = told.value.some((one) => one.id === id)
    told.value = isShown
      ? told.value.map((one) => (one.id === id ? { ...now, id } : one))
      : [...told.value, { ...now, id }]
    goIn(id, now.undo === undefined ? SHOWN_MS : UNDO_SHOWN_MS)
  }
  show(what)
  return { change: (text, tone) => show({ ...what, text, tone }) }
}

const ends = new Map<number, ReturnType<typeof setTimeout>>()

/** It stays while somebody points at it or is in it by the keyboard. */
function goIn(id: number, ms: number): void {
  clearTimeout(ends.get(id))
  const end = setTimeout(() => {
    const isHeld = document.getElementById(nameOf(id))?.matches(':hover, :focus-within') === true
    if (isHeld) goIn(id, ms)
    else dismiss(id)
  }, ms)
  ends.set(id, end)
}

function nameOf(id: number): string {
  return `toast-${id}`
}

/** Takes back what was told of last; false when nothing can be. */
function undoLast(): boolean {
  const last = told.value.findLast(({ undo }) => undo !== undefined)
  if (last === undefined) return false
  dismiss(last.id)
  last.undo?.()
  return true
}

/** Where toasts are. One is in the frame of all pages. Ctrl+Z takes back what was done last, except where text is typed. */
export function Toasts() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'z' || event.shiftKey || !(event.ctrlKey || event.metaKey)) return
      const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select')
      if (!isTyping && undoLast()) event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <div class="toasts" role="status" aria-live="polite">
      {told.value.map(({ id, text, tone = 'ok', undo }) => (
        <div key={id} id={nameOf(id)} class="toast">
          <Shape tone={tone} />
          <span>{text}</span>
          {undo === undefined ? null : (
            <Button
              icon="undo-2"
              onClick={() => {
                dismiss(id)
                undo()
              }}
            >
              {t('ui.undo')} <kbd class="wide-only">Ctrl Z</kbd>
            </Button>
          )}
          <Button kind="quiet" icon="x" label={t('ui.close')} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}

function dismiss(id: number): void {
  clearTimeout(ends.get(id))
  ends.delete(id)
  told.value = told.value.filter((one) => one.id !== id)
}
