import type { RefObject } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'

/** Fewer rows than that are all drawn. */
const ALL_UP_TO = 150
/** Rows that are drawn beyond what can be seen, to either side. */
const MARGIN = 10
/** Until a row has been measured. */
const FIRST_GUESS = 40

/** Which rows are drawn: those from `first` up to before `last`, with the heights of what is left out, in px. */
export interface Window {
  readonly first: number
  readonly last: number
  readonly above: number
  readonly below: number
  /** Scrolls so that a row can be seen. */
  readonly show: (place: number) => void
}

/** What of `count` rows of one height can be seen in a frame that scrolls. */
export function useWindow(frame: RefObject<HTMLElement | null>, count: number): Window {
  const [height, setHeight] = useState(FIRST_GUESS)
  const [range, setRange] = useState<readonly [number, number]>([0, ALL_UP_TO])
  const isAll = count <= ALL_UP_TO
  useLayoutEffect(() => {
    const element = frame.current
    if (element === null || isAll) return undefined
    const measured = heightIn(element)
    setHeight(measured)
    const look = (): void => {
      const from = Math.max(0, Math.floor(element.scrollTop / measured) - MARGIN)
      const to = from + Math.ceil(element.clientHeight / measured) + 2 * MARGIN
      setRange((known) => (known[0] === from && known[1] === to ? known : [from, to]))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    const watch = new ResizeObserver(look)
    watch.observe(element)
    return () => {
      element.removeEventListener('scroll', look)
      watch.disconnect()
    }
  }, [frame, isAll, count])
  const [first, last] = isAll
    ? [0, count]
    : [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)]
  const show = (place: number): void => {
    const element = frame.current
    if (element === null || isAll) return
    const [top, bottom] = [place * height, (place + 2) * height]
    if (top < element.scrollTop) element.scrollTop = top
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight
  }
  return { first, last, above: first * height, below: (count - last) * height, show }
}

/** Height of a row as it is drawn; of all that are, since some have a line more. */
function heightIn(frame: HTMLElement): number {
  const rows = [...frame.querySelectorAll<HTMLElement>('tbody tr[data-place]')]
  if (rows.length === 0) return FIRST_GUESS
  return rows.reduce((sum, { offsetHeight }) => sum + offsetHeight, 0) / rows.length
}
