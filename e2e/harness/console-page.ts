import { assert } from '@steeple/testkit'
import type { Locator, Page } from 'playwright-core'
import { LACKS } from './builds/program.ts'
import { misfits, objections } from './console-look.ts'
import { type Person, totpAt } from './people.ts'

/**
 * How every page is looked at: on a phone and at a desk, by day and by night, where there are other colours and nothing else. In this order
 * the page is laid out anew as seldom as can be.
 */
const LOOKS = [
  { width: 360, colorScheme: 'light', rules: 'all' },
  { width: 360, colorScheme: 'dark', rules: 'colours' },
  { width: 1_280, colorScheme: 'dark', rules: 'colours' },
  { width: 1_280, colorScheme: 'light', rules: 'all' },
] as const
const DESK = { width: 1_280, height: 900 }

/** Signs in with a token, as a person would who pastes it. */
export async function signInWithToken(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: 'New box? Enter its token' }).click()
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Signs in as a person, by name, password and the code of now. */
export async function signInAs(page: Page, { name, password, totp_uri: uri }: Person): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByLabel('Code').fill(totpAt(uri, Date.now()))
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Goes to another page as a link of the console does: the page is not loaded anew. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`)
}

/** Finds nothing that axe objects to, by day and by night, on a phone and at a desk, and that all fits where it stands. */
export async function isAccessible(page: Page, what: string): Promise<void> {
  for (const { width, colorScheme, rules } of LOOKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await objections(page, rules), [], `${what}, ${colorScheme}, ${width} px`)
    if (rules === 'all') assert.equal(await misfits(page), [], `${what}, ${width} px`)
  }
  await page.setViewportSize(DESK)
}

/** Makes the change of a form that shows first what it does to the core, where the build keeps the core at its configuration. */
export async function applied(form: Locator): Promise<void> {
  if (LACKS.has('core-config')) return form.getByRole('button', { name: 'Save' }).click()
  await form.getByRole('button', { name: 'Show effect' }).click()
  await form.getByRole('region', { name: 'Effect on the core' }).waitFor()
  await form.getByRole('button', { name: 'Apply' }).click()
}

/** By how much the page's clock is ahead where it is stopped: more than a call to it takes. */
const A_MOMENT_MS = 5_000

/**
 * Loads the page anew and stops its clock once it shows `seen`: from then on nothing is asked for because time goes by. `moment` lets a
 * second of its time pass, in which what an event has told is read.
 */
export async function withoutTime(
  page: Page,
  seen: (page: Page) => Promise<unknown>,
): Promise<{ moment(): Promise<void> }> {
  await page.clock.install()
  await page.reload()
  await seen(page)
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + A_MOMENT_MS)
  return { moment: () => page.clock.runFor(1_000) }
}
