import { useEffect, useId, useState } from 'preact/hooks'
import { t } from '../text/index.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Input } from '../ui/input.tsx'
import { pagesHere, titleOf } from './pages-here.ts'
import { type Entry, useFound } from './palette-finds.ts'
import { navigate } from './router.ts'

/** Finds a page, a subscriber, a session or a person by a part of the name. */
export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const id = useId()
  useEffect(() => {
    if (isOpen) setText('')
    setActive(0)
  }, [isOpen])
  const things = useFound(isOpen ? text : '')
  const found = isOpen ? [...pagesFor(text), ...things].slice(0, MOST_FOUND) : []
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.go()
  }
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') choose(found[active])
    else if (step !== undefined) setActive(Math.max(0, Math.min(found.length - 1, active + step)))
    else return
    event.preventDefault()
  }
  return (
    <Dialog isOpen={isOpen} title={t('app.palette')} onClose={onClose}>
      <Input
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${active}`}
        aria-label={t('app.palette')}
        value={text}
        autoFocus
        onKeyDown={onKey}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setActive(0)
        }}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t('app.palette')} class="palette">
        {found.map((entry, index) => (
          // The field above has the focus, and the keys.
          <button
            type="button"
            tabIndex={-1}
            key={entry.key}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => choose(entry)}
          >
            {entry.name}
            {entry.kind === undefined ? null : <span class="kind"> {entry.kind}</span>}
          </button>
        ))}
      </div>
      {found.length === 0 ? <p>{t('app.palette.none')}</p> : null}
    </Dialog>
  )
}

const MOST_FOUND = 12

function pagesFor(text: string): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/)
  return pagesHere()
    .filter(({ group }) => group !== undefined)
    .map((page) => ({ name: titleOf(page), key: page.path, go: () => navigate(page.path) }))
    .filter(({ name }) => words.every((part) => name.toLowerCase().includes(part)))
}
