import { existsSync } from 'node:fs'
import { chromium, type Page, type Request } from 'playwright-core'
import { runsWith } from './compatibility/runs.ts'

/** Where Debian and its relatives put the browser. */
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** The same engine without windows, menus and policies: a quarter less of a processor for the same pages. */
const SHELL = '/usr/bin/chromium-headless-shell'
/** Flags of every browser under test: it reaches this machine alone, and fetches nothing for itself. */
export const BROWSER_FLAGS: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]
const START_LIMIT_MS = 180_000
const ACTION_LIMIT_MS = 120_000

export interface OpenPage {
  readonly page: Page
  /** What the page complained of, refusals by its policy included. */
  readonly problems: readonly string[]
  /** Whom it has asked. */
  readonly hosts: ReadonlySet<string>
  /** Whether everything that it has asked for has come. */
  readonly isQuiet: () => boolean
}

/** A browser that resolves no name: it reaches this machine alone. */
export interface Browser extends AsyncDisposable {
  /** A window of its own; `language` is what its reader reads, English when absent. */
  open(url: string, language?: string): Promise<OpenPage>
  close(): Promise<void>
}

/** What shows pages on this machine; undefined when there is nothing. */
export function findBrowser(): string | undefined {
  return existsSync(SHELL) ? SHELL : findWholeBrowser()
}

/** The browser as people have it, with the policies of its machine and certificates of its user; undefined when there is none. */
export function findWholeBrowser(): string | undefined {
  return BROWSERS.find((path) => existsSync(path))
}

/** Starts the browser with a profile of its own, which goes with it, and further flags. */
export async function openBrowser(executablePath: string, more: readonly string[] = []): Promise<Browser> {
  runsWith('Chromium', executablePath, '--version')
  const args = [...BROWSER_FLAGS, ...more]
  const browser = await chromium.launch({ executablePath, args, timeout: START_LIMIT_MS })
  return {
    open: async (url, language) => {
      const viewport = { width: 1_280, height: 900 }
      const page = await browser.newPage(
        language === undefined ? { viewport } : { viewport, locale: language },
      )
      page.setDefaultTimeout(ACTION_LIMIT_MS)
      const problems: string[] = []
      const hosts = new Set<string>()
      const underWay = new Set<Request>()
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('console', (message) => {
        // The browser itself notes answers that are errors; some are asked for here.
        const isNote = message.text().startsWith('Failed to load resource')
        if (message.type() === 'error' && !isNote) problems.push(message.text())
      })
      page.on('request', (request) => {
        hosts.add(new URL(request.url()).host)
        // It never ends.
        if (!request.url().includes('/v1/events')) underWay.add(request)
      })
      page.on('requestfinished', (request) => underWay.delete(request))
      page.on('requestfailed', (request) => underWay.delete(request))
      await page.goto(url)
      return { page, problems, hosts, isQuiet: () => underWay.size === 0 }
    },
    async [Symbol.asyncDispose](this: Browser) {
      await this.close()
    },
    close: () => browser.close(),
  }
}
