import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** One of several views of a thing. */
export interface Tab {
  readonly key: string
  readonly title: string
  readonly content: () => ComponentChildren
}

/** Views of one thing, by arrow keys too. Which one is shown is the caller's, for the address: `filter('tab')`. */
export function Tabs({
  label,
  tabs,
  chosen,
  onChoose,
}: {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly chosen: string
  readonly onChoose: (key: string) => void
}) {
  const id = useId()
  const shown = tabs.find(({ key }) => key === chosen) ?? tabs[0]
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined || shown === undefined) return
    const next = tabs[(tabs.indexOf(shown) + step + tabs.length) % tabs.length]
    if (next === undefined) return
    event.preventDefault()
    onChoose(next.key)
    document.getElementById(`${id}-${next.key}`)?.focus()
  }
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={move}>
        {tabs.map(({ key, title }) => (
          <button
            key={key}
            id={`${id}-${key}`}
            type="button"
            role="tab"
            aria-selected={key === shown?.key}
            aria-controls={`${id}-panel`}
            tabIndex={key === shown?.key ? 0 : -1}
            onClick={() => onChoose(key)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${shown?.key}`}>
        {shown?.content()}
      </div>
    </>
  )
}
