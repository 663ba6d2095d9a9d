import { addStyle, bytesText, locale, named, t, useEffect, useRef, useState } from '@steeple/console/kit'
import uPlot from 'uplot'
import plotCss from 'uplot/dist/uPlot.min.css'
import { nextStep, placeOf, type Step, type StepLength } from './usage-steps.ts'

addStyle(plotCss)

/** Of the picture with its axes, CSS px. */
const HEIGHT = 180
/** Room that a label takes along its axis, at least. */
const [TIME_ROOM, AMOUNT_ROOM] = [72, 36]
const DAY_S = 86_400

interface Props {
  /** Not empty. */
  readonly steps: readonly Step[]
  readonly length: StepLength
  /** What the picture shows, for who does not see it. */
  readonly label: string
  /** When a step was, in words. */
  readonly when: (atMs: number) => string
}

/** What was used in each step as bars: down below, up above it; what is under the mouse or the finger in words. */
export function UsageBars({ steps, length, label, when }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef(steps)
  const plot = useRef<uPlot | undefined>(undefined)
  const [pointed, setPointed] = useState<number>()
  shown.current = steps
  useEffect(() => {
    const { current: place } = box
    if (place === null) return undefined
    const made = new uPlot(options(place, shown, length, setPointed), dataOf(shown.current), place)
    plot.current = made
    const end = kept(made, place)
    return () => {
      plot.current = undefined
      end()
    }
  }, [length])
  useEffect(() => plot.current?.setData(dataOf(steps)), [steps])
  const step = pointed === undefined ? undefined : steps[pointed]
  return (
    <figure class="chart">
      <div class="plot" role="img" aria-label={label} ref={box} />
      <figcaption class="fine">
        <span>
          <i class="key down" /> {t('sessions.down')} <i class="key up" /> {t('sessions.up')}
        </span>
        <span class="pointed">
          {step === undefined ? t('usage.point') : named(when(step.atMs), amountsText(step))}
        </span>
      </figcaption>
    </figure>
  )
}

function amountsText({ downBytes, upBytes }: Step): string {
  return t('usage.amounts', { down: bytesText(downBytes), up: bytesText(upBytes) })
}

/** As wide as its place and in the colours of the theme, until the returned function takes it away. */
function kept(made: uPlot, place: HTMLElement): () => void {
  const fit = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }))
  fit.observe(place)
  const looks = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query))
  const repaint = (): void => made.redraw()
  for (const look of looks) look.addEventListener('change', repaint)
  return () => {
    fit.disconnect()
    for (const look of looks) look.removeEventListener('change', repaint)
    made.destroy()
  }
}

/** Seconds, then the heights of the bars that lie behind each other: both together, and down before it. */
function dataOf(steps: readonly Step[]): uPlot.AlignedData {
  return [
    steps.map(({ atMs }) => atMs / 1_000),
    steps.map(({ downBytes, upBytes }) => downBytes + upBytes),
    steps.map(({ downBytes }) => downBytes),
  ]
}

function options(
  place: HTMLElement,
  shown: { readonly current: readonly Step[] },
  length: StepLength,
  point: (step: number | undefined) => void,
): uPlot.Options {
  const paths = uPlot.paths.bars?.({ size: [0.8, Number.POSITIVE_INFINITY], align: 1 })
  const bar = (key: string): uPlot.Series => ({
    ...(paths === undefined ? {} : { paths }),
    fill: () => colour(place.parentElement?.querySelector(`.key.${key}`), 'backgroundColor'),
    width: 0,
    points: { show: false },
  })
  const ends = (): uPlot.Range.MinMax => [
    (shown.current[0]?.atMs ?? 0) / 1_000,
    nextStep(shown.current.at(-1)?.atMs ?? 0, length) / 1_000,
  ]
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    // Nothing is dragged; the step that is pointed at is said beside the picture.
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
    scales: { x: { range: ends }, y: { range: (_plot, _least, most) => [0, most > 0 ? most : 1] } },
    series: [{}, bar('up'), bar('down')],
    axes: [timeAxis(place), amountAxis(place)],
    hooks: {
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor
          point(left < 0 ? undefined : placeOf(shown.current, plot.posToVal(left, 'x') * 1_000))
        },
      ],
    },
  }
}

/** Days, and hours where days are wide enough, as the reader writes them and of the reader's zone. */
function timeAxis(place: HTMLElement): uPlot.Axis {
  const day = new Intl.DateTimeFormat(locale(), { day: 'numeric', month: 'short' })
  const hour = new Intl.DateTimeFormat(locale(), { timeStyle: 'short' })
  return {
    ...axis(place),
    space: TIME_ROOM,
    grid: { show: false },
    values: (_plot, splits, _axis, _room, apart) =>
      splits.map((seconds) => {
        const date = new Date(seconds * 1_000)
        const isDay = apart >= DAY_S || (date.getHours() === 0 && date.getMinutes() === 0)
        return (isDay ? day : hour).format(date)
      }),
  }
}

function amountAxis(place: HTMLElement): uPlot.Axis {
  return {
    ...axis(place),
    space: AMOUNT_ROOM,
    values: (_plot, splits) => splits.map(bytesText),
    size: (plot, values) => {
      plot.ctx.font = fontOf(place)
      return Math.ceil(Math.max(0, ...(values ?? []).map((text) => plot.ctx.measureText(text).width))) + 12
    },
  }
}

function axis(place: HTMLElement): uPlot.Axis {
  const line = (): string => colour(place, 'borderBlockEndColor')
  return {
    stroke: () => colour(place, 'color'),
    font: fontOf(place),
    gap: 4,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1, size: 4 },
  }
}

/** A colour of the theme in force, such as a canvas takes. */
function colour(
  of: Element | null | undefined,
  what: 'color' | 'backgroundColor' | 'borderBlockEndColor',
): string {
  return of ? getComputedStyle(of)[what] : ''
}

function fontOf(place: HTMLElement): string {
  const { fontSize, fontFamily } = getComputedStyle(place)
  return `${fontSize} ${fontFamily}`
}
