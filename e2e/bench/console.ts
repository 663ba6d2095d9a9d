import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { listen } from '@steeple/testkit'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { BROWSER_FLAGS, findBrowser } from '../harness/browser.ts'
import { openEvents } from '../harness/event-client.ts'
import { ROOT } from '../harness/launch.ts'
import { done, type Service } from '../harness/service.ts'
import {
  type Bench,
  bench,
  type Finding,
  least,
  liftLimits,
  line,
  median,
  most,
  quantile,
  type Stage,
  started,
  times,
} from './bench.ts'
import { importSims, simsCsv, WITHOUT_HSS } from './store-of-sims.ts'

const SITE = join(ROOT, 'packages/console/dist/site')
/** What a page may take here. */
export const LIMIT_MS = 180_000

/** The browser of this machine: contexts and the protocol of the browser are the bench's. */
export async function browserOf(stage: Stage): Promise<Browser> {
  const executablePath = findBrowser()
  if (executablePath === undefined) throw new Error('there is no Chromium on this machine')
  const args = [...BROWSER_FLAGS]
  const browser = await chromium.launch({ executablePath, args, timeout: LIMIT_MS })
  return stage.adopt(browser, async (own) => await own.close())
}

/** A tab that is signed in by a token before anything of the page runs, with scripts of its own that run before those of the page. */
async function signedInTab(browser: Browser, token: string, script = ''): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, locale: 'en-GB' })
  const page = await context.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  await page.addInitScript(`sessionStorage.setItem('steeple.token', '${token}');${script}`)
  return page
}

/** The first screen of a service, once it says whether the box is on the air. */
export async function openFirstScreen(browser: Browser, { url, adminToken }: Service): Promise<Page> {
  const page = await signedInTab(browser, adminToken)
  await page.goto(url)
  await page.locator('.sentence').waitFor()
  return page
}

const LISTED = 10_000
const LEAST_FPS = 60
/** px a second: a wheel that is turned fast, and somebody who looks for the end. */
const HAND_PX = 3_000
const HURRY_PX = 40_000

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

const scroll = bench({
  name: 'console-scroll',
  about:
    'scrolling through 10,000 SIMs, by a trace of the browser: while they are read, and when all are there',
  setup: async (stage) => {
    const service = stage.use(await started(WITHOUT_HSS))
    await liftLimits(service)
    await importSims(service, simsCsv(0, LISTED, ['iccid']), LISTED)
    const page = await signedInTab(await browserOf(stage), service.adminToken)
    await page.goto(`${service.url}/sims`)
    await page.locator('tr[data-place]').first().waitFor()
    return { page, protocol: await page.context().newCDPSession(page) }
  },
  act: async ({ page, protocol }) => {
    const hasAll = `document.querySelector('table[aria-rowcount="${LISTED + 1}"]') !== null`
    const reading = await traced(page, protocol, async () => {
      while (!(await page.evaluate<boolean>(hasAll))) await scrollBy(page, protocol, -HURRY_PX, HURRY_PX)
    })
    const hurry = await traced(page, protocol, () => scrollBy(page, protocol, 4 * HURRY_PX, HURRY_PX))
    const byHand = (): Promise<void> => scrollBy(page, protocol, -5 * HAND_PX, HAND_PX)
    const hand = await traced(page, protocol, byHand)
    await makeBare(page)
    const bare = await traced(page, protocol, byHand)
    const longest = (how: string, { longestMs, longestCpuMs, rows }: typeof hand): Finding =>
      most(`longest task of a scroll ${how}, ${rows} rows in the document`, longestMs, 'ms', 50, {
        beside: ['its processor time', longestCpuMs],
      })
    return [
      longest(`while ${LISTED} SIMs are read`, reading),
      longest(`in a hurry through ${LISTED} SIMs`, hurry),
      longest(`by hand, ${HAND_PX} px/s`, hand),
      // A fiftieth of the frames may be missing: they are counted over a few seconds.
      least('frames of the one by hand', hand.fps, '/s', 0.98 * Math.min(LEAST_FPS, bare.fps), {
        beside: ['a page that holds such rows and no script', bare.fps],
        target: `≥ ${LEAST_FPS}/s, or what that page has`,
      }),
    ]
  },
})

/** Makes the page one that only holds what is to be seen, more often than a scroll goes through: no script of the console runs on it any more. */
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
    for (let times = 1; times < 20; times++) body.append(...rows.map((row) => row.cloneNode(true)))
    document.querySelector('.table-frame').scrollTop = 0
  })()`)
}

/** A gesture of the mouse wheel over the table, as the browser itself makes it. */
async function scrollBy(page: Page, protocol: CDPSession, yDistance: number, speed: number): Promise<void> {
  const box = await page.locator('.table-frame').boundingBox()
  if (box === null) throw new Error('there is no table')
  const [x, y] = [box.x + box.width / 2, Math.min(box.y + box.height / 2, 600)]
  const gesture = { x, y, yDistance, speed, gestureSourceType: 'mouse' } as const
  await protocol.send('Input.synthesizeScrollGesture', gesture)
}

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

/** The longest task of the page's main thread meanwhile, by the clock and by the processor, ms; frames a second, and rows at the end. */
async function traced(page: Page, protocol: CDPSession, work: () => Promise<void>) {
  const events: TraceEvent[] = []
  const take = ({ value }: { readonly value: readonly object[] }): void => {
    // The protocol leaves open what is in an event.
    for (const event of value as readonly TraceEvent[])
      if (event.ph === 'M' || event.name.endsWith('RunTask')) events.push(event)
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
  const over = new Promise((resolve) => protocol.once('Tracing.tracingComplete', resolve))
  await protocol.send('Tracing.end')
  await over
  protocol.off('Tracing.dataCollected', take)
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`
  const isMain = ({ name, args }: TraceEvent): boolean =>
    name === 'thread_name' && args?.name === 'CrRendererMain'
  const main = new Set(events.filter(isMain).map(threadOf))
  const tasks = events.filter((event) => event.name.endsWith('RunTask') && main.has(threadOf(event)))
  const longest = (of: 'dur' | 'tdur'): number =>
    quantile(
      tasks.map((task) => (task[of] ?? 0) / 1_000),
      1,
    )
  return { longestMs: longest('dur'), longestCpuMs: longest('tdur'), fps, rows }
}

const SLOWER = 4
const ROUNDS = 9

/**
 * Notes, in ms since the navigation, when the sentence of truth is shown, and when a click (the button that finds pages, pressed at
 * once) is answered by its dialog.
 */
const WITNESS = `(() => {
  const seen = {}
  let tell
  globalThis.__first = new Promise((done) => (tell = done))
  const look = () => {
    if (seen.sentence === undefined && document.querySelector('.sentence') !== null) {
      seen.sentence = performance.now()
      document.querySelector('[data-answer], header .button:not(.menu-button)').click()
    }
    if (seen.sentence !== undefined && document.querySelector('dialog[open]') !== null) {
      seen.answer = performance.now()
      watch.disconnect()
      tell(seen)
    }
  }
  const watch = new MutationObserver(look)
  watch.observe(document, { subtree: true, childList: true, attributes: true })
})()`
/** A page that loads and runs the same files, but shows the sentence and answers the click at once, with nothing asked for. */
const BARE_ENTRY = `document.body.innerHTML = '<p class="sentence"></p><button data-answer>Find</button><dialog></dialog>'
document.querySelector('button').onclick = () => document.querySelector('dialog').showModal()`

/** Times of one navigation, ms. */
interface First {
  readonly sentence: number
  readonly answer: number
}

const first = bench({
  name: 'console-first',
  about: 'how soon the first screen answers, with a processor at a quarter of its speed, beside a bare page',
  setup: async (stage) => {
    const browser = await browserOf(stage)
    const service = stage.use(await started())
    const bare = await bareSite(stage, [...(await firstScreen(browser, service)).keys()])
    return { browser, service, bare }
  },
  act: async ({ browser, service, bare }) => {
    /** Opens a page in a browser that has nothing of it, and once more. */
    const open = async (url: string): Promise<readonly First[]> => {
      const page = await signedInTab(browser, service.adminToken, WITNESS)
      const protocol = await page.context().newCDPSession(page)
      await protocol.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
      const took = await times(2, async () => {
        await page.goto(url)
        return await page.evaluate<First>('globalThis.__first')
      })
      await page.context().close()
      return took
    }
    // In turns, so that both meet the same machine.
    const rounds = await times(ROUNDS, async () => ({
      ours: await open(service.url),
      bare: await open(bare),
    }))
    return ['cold cache', 'warm cache'].map((cache, at) => {
      const of = (who: 'ours' | 'bare', what: keyof First) => rounds.map((one) => one[who][at]?.[what] ?? 0)
      const answers = of('ours', 'answer')
      const also = `the sentence: ${Math.round(median(of('ours', 'sentence')))} ms; worst: ${Math.round(quantile(answers, 1))} ms`
      const name = `first screen answers a click, processor ${SLOWER} times slower, ${cache}, median of ${ROUNDS} (${also})`
      return most(name, median(answers), 'ms', 1_000, {
        beside: ['a bare page with the same files and no requests', median(of('bare', 'answer'))],
      })
    })
  },
})

/** What a browser has asked for until the first screen is there, of the console, its plugins and their texts: path → content. */
async function firstScreen(browser: Browser, service: Service): Promise<ReadonlyMap<string, Uint8Array>> {
  const page = await openFirstScreen(browser, service)
  await page.getByRole('region', { name: 'Recent events' }).waitFor()
  const asked = await page.evaluate<readonly string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
  )
  await page.context().close()
  const paths = ['/', ...new Set(asked.filter((path) => /^\/([a-z-]+-files|v1\/texts)\//.test(path)))]
  const read = async (path: string) => [path, await (await fetch(service.url + path)).bytes()] as const
  return new Map(await Promise.all(paths.map(read)))
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' },
}

/** Serves those files as the service does: compressed, to be kept for good. */
async function bareSite(stage: Stage, paths: readonly string[]): Promise<string> {
  const files = paths.filter((path) => path.startsWith('/console-files/')).map((path) => path.slice(15))
  const scripts = files.filter((name) => name.endsWith('.js') && !name.startsWith('index.'))
  const entry = readFileSync(join(SITE, files.find((name) => /^index\..*\.js$/.test(name)) ?? ''), 'utf8')
  // The entry itself is loaded as text: running it would be the console.
  const bare = `${scripts.map((name) => `import './${name}'\n`).join('')}/* ${entry.replaceAll('*/', '')} */\n${BARE_ENTRY}`
  const html = readFileSync(join(SITE, 'index.html'), 'utf8').replace(/index\.\w+\.js/, 'bare.js')
  const server = createServer((request, response) => {
    const name = request.url?.replace(/^\/(console-files\/)?/, '') ?? ''
    const kept = name === '' ? {} : { 'cache-control': 'public, max-age=31536000, immutable' }
    const headers = { ...kept, 'content-type': TYPES[extname(name)] ?? 'text/html' }
    if (name === '') response.writeHead(200, headers).end(html)
    else if (name === 'bare.js') response.writeHead(200, headers).end(bare)
    else
      try {
        const body = readFileSync(join(SITE, `${name}.br`))
        response.writeHead(200, { ...headers, 'content-encoding': 'br' }).end(body)
      } catch {
        response.writeHead(200, headers).end(readFileSync(join(SITE, name)))
      }
  })
  return `${stage.adopt(await listen(server), (own) => own.close()).url}/`
}

const bytes = bench({
  name: 'console-bytes',
  about: 'what the first screen loads of the console, compressed',
  setup: async (stage) => {
    const browser = await browserOf(stage)
    return [...(await firstScreen(browser, stage.use(await started()))).values()]
  },
  act: async (files) => {
    const kB = (packed: (file: Uint8Array) => Uint8Array): number =>
      files.reduce((sum, file) => sum + packed(file).length, 0) / 1_000
    const beside = ['as they are', kB((file) => file)] as const
    const gzip = kB((file) => gzipSync(file, { level: 9 }))
    return [
      most(`first screen of the console, ${files.length} files, gzip`, gzip, 'kB', 150, { beside }),
      most(
        'the same, brotli',
        kB((file) => brotliCompressSync(file)),
        'kB',
        150,
        { beside },
      ),
    ]
  },
})

const CONSOLES = 50
const SETTLE_MS = 10_000
const SAMPLE_MS = 20_000

/** What a console asks for while it is only looked at: path, and ms since it was first listened to. */
interface Asked {
  readonly atMs: number
  readonly path: string
}

const idle = bench({
  name: 'console-idle',
  about: 'processor time of the service with nobody at a console, with one in a browser, and with 50',
  setup: async (stage) => {
    const service = stage.use(await started(WITHOUT_HSS))
    await liftLimits(service)
    await importSims(service, simsCsv(0, 1_000, []), 1_000)
    return { service, browser: await browserOf(stage) }
  },
  act: async ({ service, browser }) => {
    await delay(SETTLE_MS)
    let pattern: readonly Asked[] = []
    const rounds = await times(3, async () => {
      const without = await threadsShare(service)
      const page = await openFirstScreen(browser, service)
      await delay(SETTLE_MS)
      const heard: Asked[] = []
      const startedAt = performance.now()
      page.on('request', (request) => {
        const { pathname, search } = new URL(request.url())
        heard.push({ atMs: performance.now() - startedAt, path: pathname + search })
      })
      const having = await threadsShare(service)
      pattern = [...heard]
      await page.context().close()
      return { without, having }
    })
    const crowd = await openCrowd(service, pattern)
    await delay(SETTLE_MS)
    const before = crowd.sent()
    const all = await threadsShare(service)
    const sent = (crowd.sent() - before) / CONSOLES
    crowd.close()
    // What else goes on in the service now and then only adds to what nobody, or one, makes it do.
    const none = Math.min(...rounds.map(({ without }) => without))
    const one = Math.min(...rounds.map(({ having }) => having))
    const requests = `requests of each of them in ${SAMPLE_MS / 1_000} s`
    const share = (name: string, value: number, limit: number): Finding =>
      most(name, value, '% of a core', limit, {
        beside: ['all of the service without', none],
        target: `≤ ${limit} %`,
      })
    return [
      share('an idle console in a browser, beyond the service alone', one - none, 0.2),
      share(`${CONSOLES} idle consoles, beyond the service alone`, all - none, 5),
      share('one of them', (all - none) / CONSOLES, 0.2),
      line(requests, sent, '', Math.abs(sent - pattern.length) <= 1, {
        beside: ['of the one in a browser', pattern.length],
        target: 'the same',
      }),
    ]
  },
})

/** Processor time of all threads of a process meanwhile, percent of a core: ticks of 10 ms are too coarse for two thousandths of it. */
async function threadsShare({ child }: Service): Promise<number> {
  const folder = `/proc/${child.pid}/task`
  const usedMs = (): number =>
    readdirSync(folder)
      .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
      .reduce((sum, ms) => sum + ms, 0)
  const before = usedMs()
  await delay(SAMPLE_MS)
  return (100 * (usedMs() - before)) / SAMPLE_MS
}

/** Consoles that ask as the one in the browser did, each from a moment of its own, with a token and an event stream each. */
async function openCrowd(service: Service, pattern: readonly Asked[]) {
  const tokens = await times(CONSOLES, async (n): Promise<string> => {
    const made = await done(service, 'POST', '/v1/tokens', { name: `console ${n}`, roles: ['admin'] })
    return made.token
  })
  const streams = await Promise.all(tokens.map((token) => openEvents(`${service.url}/v1/events`, { token })))
  const refused = streams.find(({ status }) => status !== 200)
  if (refused !== undefined) throw new Error(`a stream was refused: ${refused.status}`)
  let sent = 0
  const timers = new Set<NodeJS.Timeout>()
  for (const token of tokens) {
    const shift = Math.random() * SAMPLE_MS
    for (const { atMs, path } of pattern) {
      const ask = (): void => {
        sent += 1
        void service.request('GET', path, { token }).catch(() => undefined)
      }
      const begin = (): void => {
        ask()
        timers.add(setInterval(ask, SAMPLE_MS))
      }
      timers.add(setTimeout(begin, (atMs + shift) % SAMPLE_MS))
    }
  }
  return {
    sent: () => sent,
    close: () => {
      for (const timer of timers) clearTimeout(timer)
      for (const stream of streams) stream.close()
    },
  }
}

/** What the console takes of a browser, of the wire and of the service. */
export const CONSOLE: readonly Bench[] = [scroll, first, idle, bytes]
