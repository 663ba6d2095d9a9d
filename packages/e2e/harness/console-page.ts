import { assert } from '@steeple/testkit'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Widths at which every page is looked at: a phone, and a desk. */
const WIDTHS = [360, 1_280] as const

/** Signs in with a token, as a person would who pastes it. */
export async function signInWithToken(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: 'Use a token instead' }).click()
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Finds nothing that axe objects to, by day and by night, on a phone and at a desk; nothing is wider than the screen. */
export async function isAccessible(page: Page, what: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      // As text by the protocol of the browser: the policy of the page lets no script of another in.
      await page.evaluate(axe.source)
      const found: readonly string[] = await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
      )
      assert.equal(found, [], `${what}, ${colorScheme}, ${width} px`)
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
      assert.not(isWider, `${what} is wider than ${width} px`)
    }
  }
}
