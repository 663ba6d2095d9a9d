import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { may } from '../api/session.ts'
import { t } from '../text/index.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Checkbox } from '../ui/field.tsx'
import { isSomethingTyped } from '../ui/form.tsx'
import { Facts } from '../ui/parts.tsx'
import { pagesHere, titleOf } from './pages-here.ts'
import { navigate } from './router.ts'

const ISSUE = 'n'
const SEARCH = '/'
const HELP = '?'

const isOpen = signal(false)
/** Keys without Ctrl or Alt can be in the way of who speaks to a computer: WCAG 2.1.4. Kept in this browser. */
const OFF = 'console.shortcuts.off'
const isOn = signal(localStorage.getItem(OFF) === null)

function setOn(on: boolean): void {
  isOn.value = on
  if (on) localStorage.removeItem(OFF)
  else localStorage.setItem(OFF, '1')
}

/** What a key does for who is signed in; undefined: nothing. */
function deedOf(key: string, onFind: () => void): (() => void) | undefined {
  if (key === SEARCH) return onFind
  if (key === HELP) return () => (isOpen.value = true)
  if (key === ISSUE) return may('sim:issuer') ? () => navigate('/sims?do=issue') : undefined
  const path = pagesHere().find((page) => page.key === key)?.path
  return path === undefined ? undefined : () => navigate(path)
}

/** Whether a key is part of a text, of a choice, or of a dialog that waits for an answer; or a form would lose what was typed. */
function isTyping({ target }: KeyboardEvent): boolean {
  if (isSomethingTyped()) return true
  if (document.querySelector('dialog[open]') !== null) return true
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
}

/** Follows the shortcuts, and shows them when it is asked to. `onFind` opens the search. */
export function Shortcuts({ onFind }: { readonly onFind: () => void }) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing
      if (!isOn.value || !isPlain || event.defaultPrevented || event.repeat || isTyping(event)) return
      const deed = deedOf(event.key.toLowerCase(), onFind)
      if (deed === undefined) return
      event.preventDefault()
      deed()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const close = (): void => {
    isOpen.value = false
  }
  const rows = pagesHere().flatMap((page) =>
    page.key === undefined ? [] : [[titleOf(page), <kbd>{page.key.toUpperCase()}</kbd>] as const],
  )
  return (
    <Dialog isOpen={isOpen.value} title={t('shortcuts.title')} onClose={close}>
      <div class="stack">
        <Facts
          facts={[
            [
              t('app.find'),
              <>
                <kbd>{SEARCH}</kbd> <kbd>Ctrl K</kbd>
              </>,
            ],
            [t('sims.issue'), may('sim:issuer') ? <kbd>{ISSUE.toUpperCase()}</kbd> : undefined],
            ...rows,
            [t('shortcuts.title'), <kbd>{HELP}</kbd>],
          ]}
        />
        <Checkbox text="shortcuts.on" isChecked={isOn.value} onChange={setOn} />
        <div class="actions">
          <Button onClick={close}>{t('ui.close')}</Button>
        </div>
      </div>
    </Dialog>
  )
}

export function ShortcutsButton() {
  return (
    <Button
      icon="keyboard"
      kind="quiet"
      onClick={() => {
        isOpen.value = true
      }}
    >
      {t('shortcuts.title')}
    </Button>
  )
}
