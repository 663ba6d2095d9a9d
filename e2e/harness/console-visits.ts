import { assert } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import type { Browser, OpenPage } from './browser.ts'
import { goTo, signInWithToken } from './console-page.ts'

/** Pages of people who are signed in, which one test hands on to the next: to load one and sign in costs more than most of what is done on it. */
export interface Visits {
  /** A page at `path` for one of that role: one that was given back, or a new one. */
  enter(role: string, path: string): Promise<OpenPage>
  /**
   * Gives a page back: nothing was complained of on it, and nobody else was asked. A test that fails gives none back, so the next
   * one has a page of its own; nor is one handed on that is about to ask something.
   */
  leave(page: Page): Promise<void>
}

/** Where the console has nothing: what was on a page is gone, and nothing is asked for. */
const NOWHERE = '/nowhere'
const HEIGHT = 900
const WIDTH = 1_280

/** The visits of a console at that address; `tokenOf` is asked for a token once a page. */
export function makeVisits(
  browser: Browser,
  url: string,
  tokenOf: (role: string) => string | Promise<string>,
): Visits {
  const free: { readonly role: string; readonly opened: OpenPage }[] = []
  const entered = new Map<Page, { readonly role: string; readonly opened: OpenPage }>()
  return {
    enter: async (role, path) => {
      const place = free.findIndex((one) => one.role === role)
      const [kept] = place < 0 ? [] : free.splice(place, 1)
      const visit = kept ?? { role, opened: await browser.open(url + path) }
      const { page } = visit.opened
      if (kept === undefined) await signInWithToken(page, await tokenOf(role))
      else await goTo(page, path)
      entered.set(page, visit)
      return visit.opened
    },
    leave: async (page) => {
      const visit = entered.get(page)
      if (visit === undefined) throw new Error('nobody has entered that page')
      entered.delete(page)
      assert.equal(visit.opened.problems, [])
      assert.equal([...visit.opened.hosts], [new URL(url).host])
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize({ width: WIDTH, height: HEIGHT })
      await goTo(page, NOWHERE)
      await page.getByRole('heading', { level: 1, name: 'This page does not exist' }).waitFor()
      if ((await page.locator('dialog[open]').count()) === 0) free.push(visit)
      else await page.close()
    },
  }
}
