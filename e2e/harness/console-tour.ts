import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LANGUAGES, type Language } from '@steeple/contracts'
import { assert, eventually } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import type { Browser, OpenPage } from './browser.ts'
import { dialogFaults, tabFaults } from './console-keys.ts'
import { misfits, objections, type Words, wordsOf } from './console-look.ts'
import { goTo } from './console-page.ts'
import type { ConsoleWorld } from './console-world.ts'
import type { TokenRole } from './contract-roles.ts'
import { mint } from './credentials.ts'
import { ROOT } from './launch.ts'

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
export interface Tour {
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
export async function planTour(world: ConsoleWorld, browser: Browser, named: Tour['named']): Promise<Tour> {
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
export async function walk(tour: Tour, role: TokenRole, language: Language): Promise<readonly string[]> {
  const { service } = tour.world
  const opened = await enter(tour, role, language)
  const { page, problems, hosts } = opened
  const roles = await rolesOf(opened)
  const wrong: string[] = []
  for (const [place, listed] of tour.pages.entries()) {
    const address = addressOf(listed, tour.named)
    await go(opened, address)
    const isShown = (await page.getByText(tour.tongues[language].texts['app.notFound'] ?? '').count()) === 0
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
export async function walkByKeys(tour: Tour): Promise<KeysWalked> {
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
