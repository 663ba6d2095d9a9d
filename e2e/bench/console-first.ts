import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { ROOT } from '../harness/launch.ts'
import { type Service, startService } from '../harness/service.ts'
import { firstScreenFiles } from './console-bytes.ts'
import { benchBrowser, signedInTab } from './console-tab.ts'
import { type Finding, median, quantile } from './measure.ts'

const SITE = join(ROOT, 'packages/console/dist/site')
const SLOWER = 4
const ROUNDS = 9
const LIMIT_MS = 1_000
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

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

/** How soon the first screen says whether the box is on the air and answers a click, with the processor at a quarter of its speed. */
export async function benchConsoleFirst(): Promise<readonly Finding[]> {
  const files = await firstScreenFiles()
  const service = await startService()
  const bare = await bareSite(files)
  const browser = await benchBrowser()
  try {
    const times: Record<'cold' | 'warm' | 'bareCold' | 'bareWarm', First[]> = {
      ...{ cold: [], warm: [], bareCold: [], bareWarm: [] },
    }
    // In turns, so that both meet the same machine.
    for (let round = 0; round < ROUNDS; round++) {
      const [cold, warm] = await navigate(browser, service, service.url)
      const [bareCold, bareWarm] = await navigate(browser, service, bare.url)
      times.cold.push(cold)
      times.warm.push(warm)
      times.bareCold.push(bareCold)
      times.bareWarm.push(bareWarm)
    }
    return [
      ...lines('cold cache', times.cold, times.bareCold),
      ...lines('warm cache', times.warm, times.bareWarm),
    ]
  } finally {
    await browser.close()
    bare.close()
    await service.stop()
  }
}

function lines(cache: string, times: readonly First[], bare: readonly First[]): readonly Finding[] {
  const answers = times.map(({ answer }) => answer)
  const value = median(answers)
  const sentence = Math.round(median(times.map((one) => one.sentence)))
  return [
    {
      name: `first screen answers a click, processor ${SLOWER} times slower, ${cache}, median of ${ROUNDS} (the sentence: ${sentence} ms; worst: ${Math.round(quantile(answers, 1))} ms)`,
      value,
      unit: 'ms',
      beside: {
        what: 'a bare page with the same files and no requests',
        value: median(bare.map(({ answer }) => answer)),
      },
      target: `≤ ${LIMIT_MS} ms`,
      isMet: value <= LIMIT_MS,
    },
  ]
}

/** Opens a page in a browser that has nothing of it, and once more. */
async function navigate(browser: Browser, service: Service, url: string): Promise<readonly [First, First]> {
  const page = await signedInTab(browser, service.adminToken, [WITNESS])
  const protocol = await page.context().newCDPSession(page)
  await protocol.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  const times = [await first(page, url), await first(page, url)] as const
  await page.context().close()
  return times
}

async function first(page: Page, url: string): Promise<First> {
  await page.goto(url)
  return await page.evaluate<First>('globalThis.__first')
}

/** Serves those files as the service does: compressed, to be kept for good. */
async function bareSite(files: readonly string[]): Promise<{ readonly url: string; close(): void }> {
  const scripts = files.filter((name) => name.endsWith('.js') && !name.startsWith('index.'))
  const entry = readFileSync(join(SITE, files.find((name) => /^index\..*\.js$/.test(name)) ?? ''), 'utf8')
  // The entry itself is loaded as text: running it would be the console.
  const bare = `${scripts.map((name) => `import './${name}'\n`).join('')}/* ${entry.replaceAll('*/', '')} */\n${BARE_ENTRY}`
  const html = readFileSync(join(SITE, 'index.html'), 'utf8').replace(/index\.\w+\.js/, 'bare.js')
  const server = createServer((request, response) => {
    const name = request.url?.replace(/^\/(console-files\/)?/, '') ?? ''
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
    const type = TYPES[extname(name)] ?? 'text/html'
    if (name === '' || name === 'bare.js') {
      response.writeHead(200, { 'content-type': type, ...(name === '' ? {} : headers) })
      response.end(name === '' ? html : bare)
      return
    }
    const coded = { ...headers, 'content-type': type, 'content-encoding': 'br' }
    try {
      const body = readFileSync(join(SITE, `${name}.br`))
      response.writeHead(200, coded).end(body)
    } catch {
      response.writeHead(200, { ...headers, 'content-type': type })
      response.end(readFileSync(join(SITE, name)))
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() }
}
