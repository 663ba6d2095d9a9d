import type { CDPSession, Page } from 'playwright-core'
import { startService } from '../harness/service.ts'
import { benchBrowser, signedInTab } from './console-tab.ts'
import { type Finding, quantile } from './measure.ts'
import { importSims, liftLimits, simsCsv, WITHOUT_HSS } from './store-of-sims.ts'

const SIMS = 10_000
const LONGEST_TASK_MS = 50
const LEAST_FPS = 60
/** The part of the frames of an empty page that may be missing: they are counted over a few seconds. */
const SLACK = 0.98
/** px a second: a wheel that is turned fast, and somebody who looks for the end. */
const HAND_PX = 3_000
const HURRY_PX = 40_000
const HAND_S = 5
/** How often the rows that can be seen are in the page without scripts: more than a scroll goes through. */
const BARE_TIMES = 20
/** Begins to note when frames are made; ends it, and gives their number in a second. */
const COUNT_FRAMES = `(() => {
  const times = (globalThis.__frames = [])
  const tick = (now) => {
    times.push(now)
    globalThis.__tick = requestAnimationFrame(tick)
  }
  globalThis.__tick = requestAnimationFrame(tick)
})()`
const FRAMES_PER_SECOND = `(() => {
  cancelAnimationFrame(globalThis.__tick)
  const times = globalThis.__frames
  return (1_000 * (times.length - 1)) / (times.at(-1) - times[0])
})()`

/** An event of a trace, as far as it is looked at. Times in µs. */
interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** What a scroll through the list took. */
interface Scroll {
  /** The longest task of the page's main thread by the clock, and by the processor, ms. */
  readonly longestMs: number
  readonly longestCpuMs: number
  readonly fps: number
  /** Rows in the document at the end. */
  readonly rows: number
}

/** Scrolling through 10,000 SIMs, by a trace of the browser: first while they are read, then when all are there. */
export async function benchConsoleScroll(): Promise<readonly Finding[]> {
  const service = await startService(WITHOUT_HSS)
  const browser = await benchBrowser()
  try {
    await liftLimits(service)
    await importSims(service, simsCsv(0, SIMS, ['iccid']), SIMS)
    const page = await signedInTab(browser, service.adminToken)
    const protocol = await page.context().newCDPSession(page)
    await page.goto(`${service.url}/sims`)
    await page.locator('tr[data-place]').first().waitFor()
    const reading = await traced(page, protocol, async () => {
      while (!(await hasAll(page))) await scroll(page, protocol, -HURRY_PX, HURRY_PX)
    })
    const hurry = await traced(
      page,
      protocol,
      async () => await scroll(page, protocol, 4 * HURRY_PX, HURRY_PX),
    )
    const byHand = async (): Promise<void> => await scroll(page, protocol, -HAND_S * HAND_PX, HAND_PX)
    const hand = await traced(page, protocol, byHand)
    await makeBare(page)
    const bare = await traced(page, protocol, byHand)
    return [
      longest(`while ${SIMS} SIMs are read`, reading),
      longest(`in a hurry through ${SIMS} SIMs`, hurry),
      longest(`by hand, ${HAND_PX} px/s`, hand),
      {
        name: 'frames of the one by hand',
        value: hand.fps,
        unit: '/s',
        beside: { what: 'a page that holds such rows and no script', value: bare.fps },
        target: `≥ ${LEAST_FPS}/s, or what that page has`,
        isMet: hand.fps >= SLACK * Math.min(LEAST_FPS, bare.fps),
      },
    ]
  } finally {
    await browser.close()
    await service.stop()
  }
}

function longest(how: string, { longestMs, longestCpuMs, rows }: Scroll): Finding {
  return {
    name: `longest task of a scroll ${how}, ${rows} rows in the document`,
    value: longestMs,
    unit: 'ms',
    beside: { what: 'its processor time', value: longestCpuMs },
    target: `≤ ${LONGEST_TASK_MS} ms`,
    isMet: longestMs <= LONGEST_TASK_MS,
  }
}

/** Makes the page one that only holds what is to be seen, many times over: no script of the console runs on it any more. */
async function makeBare(page: Page): Promise<void> {
  const [frame, style] = await page.evaluate<readonly [string, string]>(`[
    document.querySelector('.table-frame').outerHTML,
    [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.cssText).join('\\n'),
  ]`)
  await page.goto('about:blank')
  await page.setContent(`<style>${style}</style>${frame}`)
  await page.evaluate(`(() => {
    const body = document.querySelector('tbody')
    const rows = [...body.children].filter((row) => row.dataset.place !== undefined)
    for (const row of body.querySelectorAll('.spacer')) row.remove()
    for (let times = 1; times < ${BARE_TIMES}; times++) body.append(...rows.map((row) => row.cloneNode(true)))
    document.querySelector('.table-frame').scrollTop = 0
  })()`)
}

/** Whether the last page has been read. */
async function hasAll(page: Page): Promise<boolean> {
  return await page.evaluate<boolean>(`document.querySelector('table[aria-rowcount="${SIMS + 1}"]') !== null`)
}

/** A gesture of the mouse wheel over the table, as the browser itself makes it. */
async function scroll(page: Page, protocol: CDPSession, distance: number, speed: number): Promise<void> {
  const box = await page.locator('.table-frame').boundingBox()
  if (box === null) throw new Error('there is no table')
  await protocol.send('Input.synthesizeScrollGesture', {
    x: box.x + box.width / 2,
    y: Math.min(box.y + box.height / 2, 600),
    yDistance: distance,
    speed,
    gestureSourceType: 'mouse',
  })
}

/** Traces what the page does meanwhile. */
async function traced(page: Page, protocol: CDPSession, work: () => Promise<void>): Promise<Scroll> {
  const events: TraceEvent[] = []
  const take = ({ value }: { readonly value: readonly object[] }): void => {
    // The protocol leaves open what is in an event.
    for (const event of value as readonly TraceEvent[]) {
      if (event.ph === 'M' || event.name.endsWith('RunTask')) events.push(event)
    }
  }
  protocol.on('Tracing.dataCollected', take)
  await protocol.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline'] },
  })
  await page.evaluate(COUNT_FRAMES)
  await work()
  const fps = await page.evaluate<number>(FRAMES_PER_SECOND)
  const rows = await page.locator('tr[data-place]').count()
  const over = new Promise((done) => protocol.once('Tracing.tracingComplete', done))
  await protocol.send('Tracing.end')
  await over
  protocol.off('Tracing.dataCollected', take)
  return { ...longestOf(events), fps, rows }
}

function longestOf(events: readonly TraceEvent[]): Pick<Scroll, 'longestMs' | 'longestCpuMs'> {
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = events.filter(({ name, pid, tid }) => name.endsWith('RunTask') && main.has(`${pid} ${tid}`))
  const most = (of: (event: TraceEvent) => number | undefined): number =>
    quantile(
      tasks.map((task) => (of(task) ?? 0) / 1_000),
      1,
    )
  return { longestMs: most(({ dur }) => dur), longestCpuMs: most(({ tdur }) => tdur) }
}
