import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { openEvents } from '../harness/event-client.ts'
import { type Service, startService } from '../harness/service.ts'
import { benchBrowser, openFirstScreen } from './console-tab.ts'
import type { Finding } from './measure.ts'
import { importSims, liftLimits, simsCsv, WITHOUT_HSS } from './store-of-sims.ts'

const SIMS = 1_000
const CONSOLES = 50
const ROUNDS = 3
const SETTLE_MS = 10_000
const SAMPLE_MS = 20_000
const LIMIT_ONE = 0.2
const LIMIT_ALL = 5

/** What a console asks for while it is only looked at: path, and ms since it was first listened to. */
interface Asked {
  readonly atMs: number
  readonly path: string
}

/** Processor time of the service with nobody at a console, with one in a browser, and with 50. */
export async function benchConsoleIdle(): Promise<readonly Finding[]> {
  const service = await startService(WITHOUT_HSS)
  const browser = await benchBrowser()
  try {
    await liftLimits(service)
    await importSims(service, simsCsv(0, SIMS, []), SIMS)
    await delay(SETTLE_MS)
    const none: number[] = []
    const one: number[] = []
    let pattern: readonly Asked[] = []
    for (let round = 0; round < ROUNDS; round++) {
      none.push(await share(service, SAMPLE_MS))
      const page = await openFirstScreen(browser, service)
      await delay(SETTLE_MS)
      const listening = requestsOf(page)
      one.push(await share(service, SAMPLE_MS))
      pattern = listening()
      await page.context().close()
    }
    const crowd = await openCrowd(service, pattern)
    await delay(SETTLE_MS)
    const before = crowd.sent()
    const all = await share(service, SAMPLE_MS)
    const sent = (crowd.sent() - before) / CONSOLES
    crowd.close()
    // What else goes on in the service now and then only adds to what nobody, or one, makes it do.
    const least = { none: Math.min(...none), one: Math.min(...one) }
    return lines({ ...least, all, sent, asked: pattern.length })
  } finally {
    await browser.close()
    await service.stop()
  }
}

interface Shares {
  readonly none: number
  readonly one: number
  readonly all: number
  /** Requests in the time of a sample: of the real one, and of each of the many. */
  readonly asked: number
  readonly sent: number
}

function lines({ none, one, all, sent, asked }: Shares): readonly Finding[] {
  const beside = { what: 'all of the service without', value: none }
  const line = (name: string, value: number, limit: number): Finding => ({
    ...{ name, value, unit: '% of a core', beside },
    ...{ target: `≤ ${limit} %`, isMet: value <= limit },
  })
  return [
    line('an idle console in a browser, beyond the service alone', one - none, LIMIT_ONE),
    line(`${CONSOLES} idle consoles, beyond the service alone`, all - none, LIMIT_ALL),
    line('one of them', (all - none) / CONSOLES, LIMIT_ONE),
    {
      name: `requests of each of them in ${SAMPLE_MS / 1_000} s`,
      value: sent,
      unit: '',
      beside: { what: 'of the one in a browser', value: asked },
      target: 'the same',
      isMet: Math.abs(sent - asked) <= 1,
    },
  ]
}

/** Processor time of all threads of a process meanwhile, in percent of a core. */
async function share({ child }: Service, ms: number): Promise<number> {
  const before = threadsMs(child.pid ?? 0)
  await delay(ms)
  return (100 * (threadsMs(child.pid ?? 0) - before)) / ms
}

/** To the nanosecond: ticks of 10 ms are too coarse for two thousandths of a core. */
function threadsMs(pid: number): number {
  const folder = `/proc/${pid}/task`
  return readdirSync(folder)
    .map((thread) => Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6)
    .reduce((sum, ms) => sum + ms, 0)
}

/** Listens to what a page asks for from now on; gives how to end it and what was heard. */
function requestsOf(page: Page): () => readonly Asked[] {
  const heard: Asked[] = []
  const startedAt = performance.now()
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    heard.push({ atMs: performance.now() - startedAt, path: pathname + search })
  })
  return () => [...heard]
}

/** Consoles that ask as the one in the browser did, each from a moment of its own, with a token and an event stream each. */
async function openCrowd(
  service: Service,
  pattern: readonly Asked[],
): Promise<{ sent(): number; close(): void }> {
  const tokens: string[] = []
  for (let n = 0; n < CONSOLES; n++) {
    const body = { name: `console ${n}`, roles: ['admin'] }
    tokens.push((await service.request('POST', '/v1/tokens', { body })).body.token)
  }
  const streams = await Promise.all(tokens.map((token) => openEvents(`${service.url}/v1/events`, { token })))
  const refused = streams.find(({ status }) => status !== 200)
  if (refused !== undefined) throw new Error(`a stream was refused: ${refused.status}`)
  let sent = 0
  const timers = new Set<NodeJS.Timeout>()
  const ask = (token: string, path: string): void => {
    sent += 1
    void service.request('GET', path, { token }).catch(() => undefined)
  }
  for (const token of tokens) {
    const shift = Math.random() * SAMPLE_MS
    for (const { atMs, path } of pattern) {
      const first = setTimeout(
        () => {
          ask(token, path)
          timers.add(setInterval(() => ask(token, path), SAMPLE_MS))
        },
        (atMs + shift) % SAMPLE_MS,
      )
      timers.add(first)
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
