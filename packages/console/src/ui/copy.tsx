import { useState } from 'preact/hooks'
import { t } from '../text/index.ts'
import { Icon } from './icon.tsx'

const SHOWN_MS = 2_000

/** Copies a text. Where the browser gives no clipboard (plain HTTP from afar) it is selected to be copied by hand. */
export function Copy({ text, label = t('ui.copy') }: { readonly text: string; readonly label?: string }) {
  const [isDone, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    if (!(await toClipboard(text))) return
    setDone(true)
    setTimeout(() => setDone(false), SHOWN_MS)
  }
  return (
    <button type="button" class="button quiet normal" onClick={() => void copy()}>
      <Icon name={isDone ? 'check' : 'copy'} />
      <span aria-live="polite">{isDone ? t('ui.copied') : label}</span>
    </button>
  )
}

/** Whether the text is in the clipboard now. */
async function toClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  const area = document.createElement('textarea')
  area.value = text
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  return isDone
}
