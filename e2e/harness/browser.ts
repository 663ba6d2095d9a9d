import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page, type Browser as PlaywrightBrowser, type Request } from 'playwright-core'
import { runsWith } from './compatibility/runs.ts'

/** A home whose browser believes a CA, and has the certificate of an archive where one is given. */
interface BrowserHome {
  readonly folder: string
  readonly ca: string
  /** PKCS#12, RFC 7292. */
  readonly archive?: { readonly file: string; readonly passphrase: string }
}

/** Whether a browser and the programs for its certificates are here. In CI the programs must be where the browser is. */
export function hasCertifiedBrowser(): boolean {
  if (findWholeBrowser() === undefined) return false
  const isHere = ['certutil', 'pk12util', 'unshare'].every(
    (name) => spawnSync(name, ['-H']).error === undefined,
  )
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs certutil and pk12util: apt install libnss3-tools')
  return isHere
}

/**
 * Starts the browser in that home. It chooses a certificate without asking anybody, as a policy of its machine says, which
 * only it sees: it has mounts of its own.
 */
export async function openCertifiedBrowser(home: BrowserHome): Promise<PlaywrightBrowser> {
  const { folder, ca, archive } = home
  const store = join(folder, '.pki', 'nssdb')
  mkdirSync(store, { recursive: true })
  const nss = (program: string, ...args: readonly string[]): void => {
    execFileSync(program, ['-d', `sql:${store}`, ...args], { stdio: 'pipe' })
  }
  nss('certutil', '-N', '--empty-password')
  nss('certutil', '-A', '-t', 'C,,', '-n', 'ca', '-i', ca)
  if (archive !== undefined) nss('pk12util', '-i', archive.file, '-W', archive.passphrase, '-K', '')
  const policies = join(folder, 'policies', 'managed')
  mkdirSync(policies, { recursive: true })
  const choice = JSON.stringify({ pattern: '*', filter: {} })
  writeFileSync(join(policies, 'choice.json'), JSON.stringify({ AutoSelectCertificateForUrls: [choice] }))
  return await chromium.launch({
    executablePath: wrapperIn(folder),
    args: [...BROWSER_FLAGS],
    env: { ...process.env, HOME: folder },
    timeout: START_LIMIT_MS,
  })
}

function wrapperIn(folder: string): string {
  const path = join(folder, 'browser.sh')
  const flags = process.getuid?.() === 0 ? '-m' : '-rm'
  const mount = `mkdir -p /etc/chromium/policies && mount --bind '${folder}/policies' /etc/chromium/policies`
  const lines = [
    '#!/bin/sh',
    `exec unshare ${flags} sh -c "${mount} && exec ${findWholeBrowser()} \\"\\$@\\"" sh "$@"`,
    '',
  ]
  writeFileSync(path, lines.join('\n'), { mode: 0o755 })
  return path
}

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
function findWholeBrowser(): string | undefined {
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
