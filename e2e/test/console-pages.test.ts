import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LANGUAGES, type Language } from '@steeple/contracts'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, type OpenPage, openBrowser } from '../harness/browser.ts'
import { misfits, objections, type Words, wordsOf } from '../harness/console-look.ts'
import { goTo } from '../harness/console-page.ts'
import { type ConsoleWorld, consoleWorld, furnish } from '../harness/console-world.ts'
import type { TokenRole } from '../harness/contract-roles.ts'
import { mint } from '../harness/credentials.ts'
import { ROOT } from '../harness/launch.ts'

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
async function tabFaults(page: Page): Promise<readonly string[]> {
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
interface DialogsFound {
  readonly opened: readonly string[]
  readonly wrong: readonly string[]
}

/**
 * Presses every button of a page by the keyboard. What opens takes the focus, keeps it, and gives it back at Escape: WCAG 2.1.2, 2.4.3.
 * Nothing that is asked of the service by this is done. `ready` shows the page as it is to be before each of them.
 */
async function dialogFaults(
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

/** A language of the console, and what must not be said in it. */
interface Tongue {
  readonly texts: ListedTexts
  /** Names of texts: they are never shown. */
  readonly keys: ReadonlySet<string>
  /** Texts of the other language that are different in this one, as patterns. */
  readonly foreign: readonly (readonly [key: string, pattern: RegExp])[]
  /** Words of the other language that no sentence of this one has. */
  readonly words: RegExp | undefined
  /** What has been found of each text so far, undefined where it is one of the language: most stand on many pages. */
  readonly judged: Map<string, string | undefined>
}

/** Words of nearly every English sentence. */
const ENGLISH =
  'the and is are of with for has have been this that from yes which cannot it there every nobody not by to but its they because no when until before after'
/** Those of them that another language has too. */
const SHARED: Readonly<Record<Language, string>> = { en: '', de: '', es: 'no has', fr: 'but', pt: 'no for' }

/** Words of English that no sentence of a language has. */
function englishOutside(language: Language): RegExp | undefined {
  if (language === 'en') return undefined
  const shared = SHARED[language].split(' ')
  const words = ENGLISH.split(' ').filter((word) => !shared.includes(word))
  return new RegExp(`(?<!\\p{L})(?:${words.join('|')})(?!\\p{L})`, 'u')
}

/** A text with fewer letters of its own may well be the same in both. */
const LEAST_LETTERS = 4

/** What may be said in a language with these texts, where the other one has those. */
function tongue(language: Language, texts: ListedTexts, others: ListedTexts): Tongue {
  const own = new Set(Object.values(texts))
  return {
    texts,
    keys: new Set(Object.keys(texts)),
    foreign: Object.entries(others)
      .filter(
        ([, text]) => !own.has(text) && text.replaceAll(/\{[^}]*\}|[^\p{L}]/gu, '').length >= LEAST_LETTERS,
      )
      .map(([key, text]) => [key, patternOf(text)]),
    words: englishOutside(language),
    judged: new Map(),
  }
}

/** What of the words on a page is no sentence of its language: names of texts, texts of the other one, words of it. */
function strangeWords(words: readonly Words[], spoken: Tongue): readonly string[] {
  return words.flatMap(({ text, where }) => {
    if (!spoken.judged.has(text)) spoken.judged.set(text, strangenessOf(text, spoken))
    const why = spoken.judged.get(text)
    return why === undefined ? [] : [`${where} says "${text}": ${why}`]
  })
}

function strangenessOf(text: string, { keys, foreign, words }: Tongue): string | undefined {
  // A key of the configuration may have the same name, but stands in a sentence.
  if (keys.has(text)) return 'that is the name of a text'
  const other = foreign.find(([, pattern]) => pattern.test(text))
  if (other !== undefined) return `that is ${other[0]} of the other language`
  return words?.test(text) === true ? `${words.exec(text)?.[0]} is of the other language` : undefined
}

/** A text with anything in its places: `{count|card|cards}` too. */
function patternOf(text: string): RegExp {
  const parts = text.split(/(\{[^}]*\})/).map((part) => {
    const forms = /^\{\w+\|([^|}]*)\|([^}]*)\}$/.exec(part)
    if (forms !== null) return `(?:${escaped(forms[1] ?? '')}|${escaped(forms[2] ?? '')})`
    return part.startsWith('{') ? '.+' : escaped(part)
  })
  return new RegExp(`^${parts.join('')}$`, 'u')
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

/** A box, a browser, and everything that is to be shown. */
interface Tour {
  readonly world: ConsoleWorld
  readonly browser: Browser
  readonly pages: readonly ListedPage[]
  readonly tongues: Readonly<Record<Language, Tongue>>
  /** What stands in the place of a pattern, for each page that has one. */
  readonly named: Readonly<Record<string, string>>
  /** What axe has found nothing wrong with, and how that was looked at: others see the same of many pages. */
  readonly judged: Set<string>
}

/** How a page is looked at: size of the screen, the hour, and what axe is asked for there. */
interface Look {
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
  readonly rules: 'all' | 'colours' | 'none'
}

const [DESK, PHONE] = [1_280, 360] as const
/**
 * Everything by day; by night there are other colours, and nothing else. The next page is looked at the other way round: it is laid out
 * anew as seldom as can be.
 */
const THERE: readonly Look[] = [
  { width: DESK, colorScheme: 'light', rules: 'all' },
  { width: DESK, colorScheme: 'dark', rules: 'colours' },
  { width: PHONE, colorScheme: 'dark', rules: 'colours' },
  { width: PHONE, colorScheme: 'light', rules: 'all' },
]
const WHOLE: readonly (readonly Look[])[] = [THERE, THERE.toReversed()]
/** What is asked of axe once, at a desk by day or on a phone by night, and fits at both. */
const BRIEF: readonly (readonly Look[])[] = [
  [
    { width: DESK, colorScheme: 'light', rules: 'all' },
    { width: PHONE, colorScheme: 'light', rules: 'none' },
  ],
  [
    { width: PHONE, colorScheme: 'dark', rules: 'all' },
    { width: DESK, colorScheme: 'dark', rules: 'none' },
  ],
]
const HEIGHT = 800
const SETTLED_MS = 120_000
/** In the page: whether something is shown, and nothing is being read. */
const IS_DRAWN = `new Promise((done) => requestAnimationFrame(() => setTimeout(() =>
  done(document.querySelector('main h1') !== null && document.querySelector('main progress:not([value])') === null))))`

/**
 * In the page: the page itself, and what stands around all of them, each to the letter, but for figures, numbers of elements, times, and
 * which entry of the menu is the current one.
 */
const MARKUPS = `(({ body }) => {
  const main = body.querySelector('main').outerHTML
  const bare = (markup) => markup
    .replace(/<time.*?<\\/time>/gs, '<time>')
    .replace(/(<a href="[^"]*") aria-current="page"/g, '$1')
    .replace(/[0-9]+/g, '0')
  return [bare(main), bare(body.outerHTML.replace(main, () => ''))]
})(document)`

/** Makes a tour of every page that the console lists. */
async function planTour(world: ConsoleWorld, browser: Browser, named: Tour['named']): Promise<Tour> {
  const pages = await consolePages()
  const [en, de] = [await textsOf('en'), await textsOf('de')]
  const others = LANGUAGES.filter((language) => language !== 'en')
  const told = others.map(
    async (language) => [language, tongue(language, await textsOf(language), en)] as const,
  )
  // As the list of languages has them.
  const tongues = Object.fromEntries([
    ['en', tongue('en', en, de)],
    ...(await Promise.all(told)),
  ]) as Tour['tongues']
  return { world, browser, pages, named, tongues, judged: new Set() }
}

/** The console as somebody with that role sees it who reads that language. */
async function enter(
  { world: { service }, browser }: Tour,
  role: TokenRole,
  language: Language,
): Promise<OpenPage> {
  const { token } = await mint(service, { name: `${role} ${language}`, roles: [role] })
  // Any address of the service's: the console is loaded once, when there is a token.
  const opened = await browser.open(`${service.url}/v1/healthz`, language)
  await opened.page.evaluate(`sessionStorage.setItem('steeple.token', '${token}')`)
  await opened.page.goto(service.url)
  await opened.page.getByRole('navigation').waitFor()
  return opened
}

/** Opens every page as somebody with that role who reads that language; gives everything that is wrong with them. */
async function walk(tour: Tour, role: TokenRole, language: Language): Promise<readonly string[]> {
  const { service } = tour.world
  const opened = await enter(tour, role, language)
  const { page, problems, hosts } = opened
  const roles = await rolesOf(opened)
  const wrong: string[] = []
  for (const [place, listed] of tour.pages.entries()) {
    const address = addressOf(listed, tour.named)
    await go(opened, address)
    const isShown = (await page.getByText(tour.tongues[language].texts['app.notYours'] ?? '').count()) === 0
    if (isShown !== roles.includes(listed.role)) wrong.push(`${address}: shown: ${isShown}`)
    if (isShown)
      wrong.push(...(await faultsOf(tour, opened, tour.tongues[language], looksAt(role, language, place))))
  }
  await page.close()
  const strangers = [...hosts].filter((host) => host !== new URL(service.url).host)
  return [...wrong, ...problems, ...strangers].map((one) => `${role}, ${language}: ${one}`)
}

/** The roles of who is signed in. */
async function rolesOf({ page }: OpenPage): Promise<readonly string[]> {
  return await page.evaluate(
    `fetch('/v1/auth/me', { headers: { authorization: 'Bearer ' + sessionStorage.getItem('steeple.token') } }).then((answer) => answer.json()).then(({ roles }) => roles)`,
  )
}

interface KeysWalked {
  readonly wrong: readonly string[]
  /** The dialogs that were opened, by the buttons that have opened them. */
  readonly dialogs: readonly string[]
}

/** What is done before the buttons of a page are there that open dialogs. */
const BEFORE: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  '/sims': (page) => page.getByLabel('Select all', { exact: true }).check(),
}

/** Goes through every page, and each dialog that its buttons open, by the keyboard alone. Whatever is asked of the service on the way is refused. */
async function walkByKeys(tour: Tour): Promise<KeysWalked> {
  const opened = await enter(tour, 'admin', 'en')
  const { page } = opened
  await page.route(
    ({ pathname }) => pathname.startsWith('/v1/'),
    (asked) =>
      asked.request().method() === 'GET' || asked.request().postData()?.includes('"dry_run":true') === true
        ? asked.fallback()
        : asked.abort(),
  )
  // Forms that were begun are left as they are.
  page.on('dialog', (question) => void question.accept())
  const wrong: string[] = []
  const dialogs: string[] = []
  for (const listed of tour.pages) {
    const address = addressOf(listed, tour.named)
    await go(opened, address)
    const tabs = await page.getByRole('main').getByRole('tab').count()
    for (let tab = 0; tab < Math.max(tabs, 1); tab++) {
      const ready = async (): Promise<void> => {
        await go(opened, '/nowhere')
        await go(opened, address)
        if (tabs > 0) await page.getByRole('main').getByRole('tab').nth(tab).click()
        await settle(opened)
        await BEFORE[address]?.(page)
      }
      await ready()
      const faults = await tabFaults(page)
      const found = await dialogFaults(opened, ready, new Set(dialogs))
      dialogs.push(...found.opened)
      const what = tabs > 0 ? `${address}, tab ${tab + 1}` : address
      wrong.push(...[...faults, ...found.wrong].map((one) => `${what}: ${one}`))
    }
  }
  await page.close()
  return { wrong, dialogs }
}

/**
 * Of an administrator all pages are looked at in every way; of others, who see less of the same, more briefly, and axe is asked in
 * one language: what it judges besides words is the same in the other.
 */
function looksAt(role: TokenRole, language: Language, place: number): readonly Look[] {
  const brief = BRIEF[(place + (language === 'de' ? 1 : 0)) % BRIEF.length] ?? THERE
  if (role === 'admin' && language === 'en') return WHOLE[place % WHOLE.length] ?? THERE
  if (role === 'admin' && language === 'de') return brief
  return language === 'en' ? brief : brief.map((look) => ({ ...look, rules: 'none' }))
}

function addressOf({ path }: ListedPage, named: Tour['named']): string {
  if (!path.includes(':')) return path
  const address = named[path]
  assert.ok(address !== undefined, `the tour has nothing for ${path}`)
  return address ?? path
}

/** Goes there as a link of the console does. */
async function go(opened: OpenPage, address: string): Promise<void> {
  await goTo(opened.page, address)
  await settle(opened)
}

/** Until all that was asked for has come, and is drawn. */
async function settle({ page, isQuiet }: OpenPage): Promise<void> {
  await eventually(async () => {
    // Known here, and so asked before the page is.
    assert.ok(isQuiet(), `${page.url()} reads`)
    assert.ok(await page.evaluate(IS_DRAWN), `${page.url()} is not drawn`)
    assert.ok(isQuiet(), `${page.url()} reads still`)
  }, SETTLED_MS)
}

/** What is wrong with the page that is open, and with each of its tabs. */
async function faultsOf(
  { judged }: Tour,
  opened: OpenPage,
  spoken: Tongue,
  looks: readonly Look[],
): Promise<readonly string[]> {
  const { page } = opened
  const tabs = await page.getByRole('main').getByRole('tab').all()
  const wrong: string[] = []
  for (const tab of tabs.length === 0 ? [undefined] : tabs) {
    await tab?.click()
    await settle(opened)
    const found = strangeWords(await wordsOf(page), spoken)
    const what = new URL(page.url()).pathname + new URL(page.url()).search
    wrong.push(...[...found, ...(await looked(opened, looks, judged))].map((one) => `${what}, ${one}`))
  }
  return wrong
}

async function looked(
  { page }: OpenPage,
  looks: readonly Look[],
  judged: Set<string>,
): Promise<readonly string[]> {
  const found: string[] = []
  const markups = looks.every(({ rules }) => rules === 'none') ? [] : await page.evaluate<string[]>(MARKUPS)
  for (const { width, colorScheme, rules } of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: HEIGHT })
    const asked = markups.flatMap((markup) => [
      ...(rules === 'all' ? [`all ${width} ${markup}`] : []),
      `colours ${width} ${colorScheme} ${markup}`,
    ])
    const isJudged = rules === 'none' || asked.every((one) => judged.has(one))
    const objected = rules === 'none' || isJudged ? [] : await objections(page, rules)
    // What is wrong with a page is said of everybody who sees it.
    if (rules !== 'none' && objected.length === 0) for (const one of asked) judged.add(one)
    const faults = [...(rules === 'colours' ? [] : await misfits(page)), ...objected]
    found.push(...faults.map((one) => `${width} px, ${colorScheme}: ${one}`))
  }
  return found
}

/** A page of the console, as the console itself lists it. */
interface ListedPage {
  /** `/sims/:hash` */
  readonly path: string
  readonly role: string
}

/** Texts of the console in one language, by key. */
type ListedTexts = Readonly<Record<string, string>>

/** Every page that the console has, as it lists them itself and the manifests of plugins do: none is forgotten. */
async function consolePages(): Promise<readonly ListedPage[]> {
  const list = pathToFileURL(join(ROOT, 'packages/console/src/app/pages.ts')).href
  const { PAGES } = (await import(list)) as { readonly PAGES: readonly ListedPage[] }
  const ofPlugins = globSync(join(ROOT, 'packages/*/package.json')).flatMap(
    (file): readonly ListedPage[] => JSON.parse(readFileSync(file, 'utf8')).steeple?.pages ?? [],
  )
  return [...PAGES, ...ofPlugins]
}

/** All texts of the console in a language. */
async function textsOf(language: string): Promise<ListedTexts> {
  // The console's and those of each plugin, as its build finds them.
  const files = globSync(join(ROOT, `packages/*/texts/${language}.json`)).sort()
  if (files.length < 2) throw new Error(`no package has texts/${language}.json`)
  return Object.assign({}, ...files.map((file) => JSON.parse(readFileSync(file, 'utf8'))))
}

/** Every page that the console lists, to every role, in its languages: what is on it fits, is said, and may be read by all. */
const pages = suite('e2e/console-pages', { limitMs: 900_000 })
/** Of no language, and as long as the label of two numbered SIMs may be. */
const LONG = 'Lpz-0815/Krbbnstrnd-4711-xyzzy-qwrtz-0123456789-Bhnhfstr-Nrd-9'
/** Who sees all comes first: what others see of the same has been judged then. */
const ROLES: readonly TokenRole[] = ['admin', 'viewer', 'operator', 'sim:issuer', 'sim:admin']
const executable = findBrowser()

let temp: TempDir
let world: ConsoleWorld
let tour: Tour

if (executable !== undefined) {
  pages.before(async () => {
    temp = await tempDir()
    const esim = { SVC_ESIM_ENABLED: 'true', SVC_ESIM_SMDP_ADDRESS: 'smdp.lab.example' }
    world = await consoleWorld(temp.path, { env: esim, label: LONG })
    tour = await planTour(world, await openBrowser(executable), await furnish(world, LONG))
  })
  pages.after(async () => {
    await tour?.browser.close()
    await world?.close()
    await temp?.[Symbol.asyncDispose]()
  })

  for (const role of ROLES)
    pages(`fit, are said in the reader's language and may be read by everybody: ${role}`, async () => {
      const languages = role === 'admin' ? LANGUAGES : (['en', 'de'] as const)
      const found = await Promise.all(languages.map((language) => walk(tour, role, language)))
      assert.equal([...new Set(found.flat())], [])
    })

  pages('can be used by the keyboard alone, and so can every dialog that they open', async () => {
    const { wrong, dialogs } = await walkByKeys(tour)
    assert.equal(wrong, [])
    // These are of different pages: what opens them was found and pressed.
    for (const name of [
      'Issue SIMs',
      'Suspend',
      'Extend',
      'Revoke',
      'Replace',
      'Invite a person',
      'Add radio profile',
    ])
      assert.ok(dialogs.includes(name), `${name} of ${dialogs.join(', ')}`)
  })
}

pages.run()
