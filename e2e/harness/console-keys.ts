import type { Page } from 'playwright-core'
import type { OpenPage } from './browser.ts'

/** A stop of the key Tab. */
interface Stop {
  /** Number among all that Tab should reach, in the order of the page; undefined where it is none of them. */
  readonly place: number | undefined
  readonly name: string
  /** What is wrong with how the stop is seen. */
  readonly unseen: string | undefined
  /** Whether it stands above the stop before it, and not beside: both are looked at now, since the page scrolls in between. */
  readonly isAbove: boolean
  /** Whether it is part of the dialog that is open. */
  readonly isWithin: boolean
}

/** In the page: what the key Tab is to reach in `root`, kept for the probe; gives how many there are. */
const LIST = `((root) => {
  const groups = new Set()
  globalThis.stopsOfTab = [...root.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter((element) => {
    if (element.tabIndex < 0 || element.disabled || element.closest('[inert]') !== null) return false
    if (!element.checkVisibility({ visibilityProperty: true })) return false
    if (element.type !== 'radio') return true
    // A group is one stop: the arrows lead from one to the next.
    const key = element.form?.id + element.name
    const isFirst = !groups.has(key)
    groups.add(key)
    return isFirst
  })
  return globalThis.stopsOfTab.length
})`

/** In the page: what has the focus now; null where nothing has. */
const PROBE = `(() => {
  const element = document.activeElement
  if (element === null || element === document.body || element === document.documentElement) return null
  const group = globalThis.stopsOfTab.findIndex((one) =>
    one === element || (one.type === 'radio' && element.type === 'radio' && one.name === element.name && one.form === element.form))
  const box = element.getBoundingClientRect()
  const style = getComputedStyle(element)
  const hasRing = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none'
  const [x, y] = [Math.min(Math.max(box.left + box.width / 2, 1), innerWidth - 2), box.top + Math.min(box.height / 2, 20)]
  const over = document.elementFromPoint(x, y)
  const isOver = over !== null && over !== element && !element.contains(over) && !over.contains(element) && over.closest('label') === null
  const unseen = !hasRing ? 'has no ring' : box.width < 1 || box.height < 1 ? 'has no size'
    : box.bottom < 0 || box.top > innerHeight ? 'is outside of the screen'
    : isOver ? 'is under ' + over.tagName.toLowerCase() + '.' + over.className : undefined
  const name = (element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent ?? '').trim().replace(/\\s+/g, ' ')
  const before = globalThis.lastOfTab?.isConnected ? globalThis.lastOfTab.getBoundingClientRect() : undefined
  globalThis.lastOfTab = element
  return {
    place: group < 0 ? undefined : group,
    name: element.tagName.toLowerCase() + ' "' + name.slice(0, 60) + '"',
    unseen,
    isAbove: before !== undefined && box.bottom <= before.top && box.left < before.right,
    isWithin: element.closest('dialog[open]') !== null,
  }
})()`
/** In the page: the names of what Tab should reach, by their numbers. */
const NAMES = `((places) => places.map((place) => globalThis.stopsOfTab[place]).map((element) =>
  element.tagName.toLowerCase() + ' "' + (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60) + '"'))`
/** In the page: the next Tab leads to the first stop of all. */
const FROM_THE_TOP = `(() => {
  for (const close of document.querySelectorAll('.toast button[aria-label]')) close.click()
  globalThis.lastOfTab = undefined
  document.activeElement?.blur?.()
  document.body.tabIndex = -1
  document.body.focus()
  document.body.removeAttribute('tabindex')
  scrollTo(0, 0)
})()`

/** Fields for a date have stops of their own within. */
const STOPS_WITHIN = 8

/** Presses Tab until all stops of the page were met once; gives what is wrong with them: WCAG 2.1.1, 2.1.2, 2.4.3, 2.4.7, 2.4.11. */
export async function tabFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(FROM_THE_TOP)
  const count = await page.evaluate<number>(`${LIST}(document)`)
  const wrong: string[] = []
  const reached = new Set<number>()
  let last: Stop | undefined
  let same = 0
  for (let left = count + STOPS_WITHIN * 4; left > 0 && reached.size < count; left--) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop | null>(PROBE)
    if (stop === null) {
      wrong.push(`behind ${last?.name} nothing has the focus`)
      break
    }
    if (stop.place !== undefined && stop.place === last?.place) {
      same += 1
      if (same > STOPS_WITHIN) {
        wrong.push(`Tab does not lead out of ${stop.name}`)
        break
      }
      continue
    }
    same = 0
    wrong.push(...faultsOfStop(stop, last))
    if (stop.place !== undefined) reached.add(stop.place)
    last = stop
  }
  const missed = Array.from({ length: count }, (_, place) => place).filter((place) => !reached.has(place))
  const names = await page.evaluate<string[]>(`${NAMES}(${JSON.stringify(missed)})`)
  return [...wrong, ...names.map((name) => `Tab does not reach ${name}`)]
}

function faultsOfStop(stop: Stop, last: Stop | undefined): readonly string[] {
  const wrong: string[] = []
  if (stop.unseen !== undefined) wrong.push(`${stop.name} has the focus and ${stop.unseen}`)
  if (stop.place === undefined) wrong.push(`${stop.name} is a stop, and nothing to use`)
  if (last?.place === undefined || stop.place === undefined) return wrong
  if (stop.place < last.place)
    wrong.push(`${stop.name} comes behind ${last.name}, against the order of the page`)
  // Upwards is where the next column begins alone.
  else if (stop.isAbove) wrong.push(`${stop.name} comes behind ${last.name}, and stands above it`)
  return wrong
}

/** In the page: the buttons that may open something, each with the name by which it is told. */
const BUTTONS = `(() => {
  for (const details of document.querySelectorAll('main details')) details.open = true
  const seen = new Set()
  globalThis.openers = [...document.querySelectorAll('header button, main button')].filter((button) => {
    const name = (button.getAttribute('aria-label') ?? button.textContent ?? '').trim()
    if (button.disabled || seen.has(name) || !button.checkVisibility()) return false
    seen.add(name)
    return true
  })
  return globalThis.openers.map((button) => (button.getAttribute('aria-label') ?? button.textContent ?? '').trim())
})()`
/** In the page: gives the focus to the button with that name, if it is there. */
const FOCUS = `((name) => {
  const button = [...document.querySelectorAll('header button, main button')].find((one) =>
    (one.getAttribute('aria-label') ?? one.textContent ?? '').trim() === name && !one.disabled && one.checkVisibility())
  globalThis.opener = button
  button?.focus()
  return button !== undefined
})`
/** In the page: whether a dialog is open, once what was pressed is drawn. */
const IS_OPEN = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.querySelector('dialog[open]') !== null))))`
const IS_WITHIN = `document.activeElement?.closest('dialog[open]') !== null`
const IS_GIVEN_BACK = `(({ activeElement }, opener) =>
  activeElement === opener || (activeElement?.tagName === 'MAIN' && (!opener.isConnected || opener.disabled)) ? ''
    : (activeElement?.tagName ?? 'nothing') + ' has the focus')(document, globalThis.opener)`
/** In the page: closes whatever a fault has left open. */
const CLOSE_ALL = `document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.dispatchEvent(new Event('cancel', { cancelable: true })))`

/** What must not be pressed here: it ends the visit. */
const NEVER: readonly string[] = ['Sign out']

/** What dialogs of a page have been found, and what is wrong with them. */
export interface DialogsFound {
  readonly opened: readonly string[]
  readonly wrong: readonly string[]
}

/**
 * Presses every button of a page by the keyboard. What opens takes the focus, keeps it, and gives it back at Escape: WCAG 2.1.2, 2.4.3.
 * Nothing that is asked of the service by this is done. `ready` shows the page as it is to be before each of them.
 */
export async function dialogFaults(
  { page }: OpenPage,
  ready: () => Promise<void>,
  known: ReadonlySet<string>,
): Promise<DialogsFound> {
  const opened: string[] = []
  const wrong: string[] = []
  await ready()
  const names = await page.evaluate<string[]>(BUTTONS)
  for (const name of names.filter((one) => !NEVER.includes(one) && !known.has(one))) {
    if (!(await page.evaluate<boolean>(`${FOCUS}(${JSON.stringify(name)})`))) {
      await ready()
      await page.evaluate(BUTTONS)
      if (!(await page.evaluate<boolean>(`${FOCUS}(${JSON.stringify(name)})`))) continue
    }
    await page.keyboard.press('Enter')
    if (!(await page.evaluate<boolean>(IS_OPEN))) continue
    opened.push(name)
    wrong.push(...(await faultsOfDialog(page)).map((fault) => `the dialog of "${name}": ${fault}`))
  }
  return { opened, wrong }
}

async function faultsOfDialog(page: Page): Promise<readonly string[]> {
  const wrong: string[] = []
  const count = await page.evaluate<number>(`${LIST}(document.querySelector('dialog[open]'))`)
  if (!(await page.evaluate<boolean>(IS_WITHIN))) wrong.push('does not take the focus')
  const reached = new Set<number>()
  for (let left = count + STOPS_WITHIN * 2; left > 0 && reached.size < count; left--) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop | null>(PROBE)
    // Behind the last one the browser has it.
    if (stop === null) continue
    if (!stop.isWithin) wrong.push(`lets the focus out to ${stop.name}`)
    // The dialog itself is a stop where it scrolls; a field for a date has several.
    if (stop.place === undefined || reached.has(stop.place)) continue
    reached.add(stop.place)
    if (stop.unseen !== undefined) wrong.push(`${stop.name} has the focus and ${stop.unseen}`)
  }
  if (reached.size < count) wrong.push(`Tab reaches ${reached.size} of ${count}`)
  await page.keyboard.press('Escape')
  if (await page.evaluate<boolean>(IS_OPEN)) {
    wrong.push('stays open at Escape')
    await page.evaluate(CLOSE_ALL)
    return wrong
  }
  const other = await page.evaluate<string>(IS_GIVEN_BACK)
  if (other !== '') wrong.push(`gives the focus back to nobody: ${other}`)
  return wrong
}
