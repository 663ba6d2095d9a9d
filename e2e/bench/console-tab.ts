import { type Browser as Chromium, chromium, type Page } from 'playwright-core'
import { BROWSER_FLAGS, findBrowser } from '../harness/browser.ts'
import type { Service } from '../harness/service.ts'

const LIMIT_MS = 180_000
const SIZE = { width: 1_280, height: 900 }

/** The browser of this machine, for measurements: contexts and the protocol of the browser are the caller's. */
export async function benchBrowser(): Promise<Chromium> {
  const executablePath = findBrowser()
  if (executablePath === undefined) throw new Error('there is no Chromium on this machine')
  return await chromium.launch({ executablePath, args: [...BROWSER_FLAGS], timeout: LIMIT_MS })
}

/** A tab that is signed in by a token before anything of the page runs, with scripts of its own that run before those of the page. */
export async function signedInTab(
  browser: Chromium,
  token: string,
  scripts: readonly string[] = [],
): Promise<Page> {
  const context = await browser.newContext({ viewport: SIZE, locale: 'en-GB' })
  const page = await context.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  for (const script of [`sessionStorage.setItem('steeple.token', '${token}')`, ...scripts])
    await page.addInitScript(script)
  return page
}

/** The first screen of a service, once it says whether the box is on the air. */
export async function openFirstScreen(browser: Chromium, { url, adminToken }: Service): Promise<Page> {
  const page = await signedInTab(browser, adminToken)
  await page.goto(url)
  await page.locator('.sentence').waitFor()
  return page
}

/**
 * Resolves with the time (ms since 1970) at which the document has changed so that `holds`, an expression, is true: told by a
 * MutationObserver, not asked for in turns. `started` of what is given back resolves when it watches.
 */
export async function changeOnScreen(page: Page, holds: string): Promise<() => Promise<number>> {
  const name = `__seen${Math.random().toString(36).slice(2)}`
  const isTrueBefore = await page.evaluate<boolean>(`(() => {
    const holds = () => ${holds}
    globalThis['${name}'] = new Promise((seen) => {
      const watch = new MutationObserver(() => {
        if (!holds()) return
        watch.disconnect()
        seen(performance.timeOrigin + performance.now())
      })
      watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
    })
    return holds()
  })()`)
  if (isTrueBefore) throw new Error(`it was so before: ${holds}`)
  return async () => {
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(`not on screen: ${holds}`)), LIMIT_MS).unref(),
    )
    return await Promise.race([page.evaluate<number>(`globalThis['${name}']`), late])
  }
}
