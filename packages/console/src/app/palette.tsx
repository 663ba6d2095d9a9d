import { useEffect, useId, useState } from 'preact/hooks'
import { t } from '../text/index.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Input } from '../ui/input.tsx'
import { pagesHere, titleOf } from './pages-here.ts'
import { navigate } from './router.ts'

/** Something that the palette finds. */
interface Entry {
  readonly name: string
  readonly go: () => void
}

/** What else it finds: from pages, for what is typed. */
type Finder = (text: string) => readonly Entry[]
const finders = new Set<Finder>()

/** Adds what the palette finds; gives back how to take it away. */
export function addFinder(finder: Finder): () => void {
  finders.add(finder)
  return () => finders.delete(finder)
}

/** Finds a page or an action by a part of its name. */
export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const id = useId()
  useEffect(() => {
    if (isOpen) setText('')
    setActive(0)
  }, [isOpen])
  const found = isOpen ? entriesFor(text) : []
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
            key={entry.name}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => choose(entry)}
          >
            {entry.name}
          </button>
        ))}
      </div>
      {found.length === 0 ? <p>{t('app.palette.none')}</p> : null}
    </Dialog>
  )
}

const MOST_FOUND = 12

function entriesFor(text: string): readonly Entry[] {
  const pages = pagesHere().filter(({ group }) => group !== undefined)
  const own = pages.map((page) => ({ name: titleOf(page), go: () => navigate(page.path) }))
  const words = text.toLowerCase().split(/\s+/)
  const fitting = own.filter(({ name }) => words.every((part) => name.toLowerCase().includes(part)))
  return [...fitting, ...[...finders].flatMap((finder) => finder(text))].slice(0, MOST_FOUND)
}
