import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

/** What a page says in words, each with where it stands. */
export interface Words {
  readonly text: string
  /** Tag of what holds it, or the name of the attribute. */
  readonly where: string
}

/** In the page: what is wider than its place, what is cut, and what of the header has broken into lines. */
const LOOK = `(() => {
  const named = (element) => {
    const text = (element.getAttribute('aria-label') ?? element.textContent ?? '').trim().replace(/\\s+/g, ' ')
    return element.tagName.toLowerCase() + (element.className ? '.' + element.className : '') + ' "' + text.slice(0, 80) + '"'
  }
  const found = []
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the screen')
  for (const element of document.querySelectorAll('header *, nav *, main *, dialog[open] *')) {
    if (element.closest('svg') !== null || element.matches('input, textarea, select, option, .box-name')) continue
    if (element.clientWidth <= 1 || !element.checkVisibility()) continue
    if (element.closest('thead') !== null && element.closest('thead').clientWidth <= 1) continue
    if (element.scrollWidth > element.clientWidth + 1)
      found.push(named(element) + ': ' + element.scrollWidth + ' px in ' + element.clientWidth)
    else if (element.matches('button, td, th') && element.scrollHeight > element.clientHeight + 1)
      found.push(named(element) + ': ' + element.scrollHeight + ' px high in ' + element.clientHeight)
  }
  for (const button of document.querySelectorAll('.shell > header button, .shell > header .lamp')) {
    const lines = new Set()
    for (const node of button.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      for (const { top, width } of range.getClientRects()) if (width > 0) lines.add(Math.round(top))
    }
    if (lines.size > 1) found.push(named(button) + ' in the header has broken into lines')
  }
  return found
})()`

/** In the page: every text that can be read or is read aloud, apart from what is said to be of another language or of no language. */
const READ = `(() => {
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const holder = node.parentElement
    if (holder === null || holder.closest('code, pre, kbd, time, script, style, [lang]:not(html), [translate="no"]') !== null) continue
    if (!holder.checkVisibility()) continue
    const text = node.data.trim().replace(/\\s+/g, ' ')
    if (text !== '') found.push({ text, where: holder.tagName.toLowerCase() })
  }
  for (const element of document.body.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
    if (element.closest('[lang]:not(html)') !== null) continue
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
      const text = element.getAttribute(name)
      if (text !== null && text.trim() !== '') found.push({ text: text.trim(), where: name })
    }
  }
  return found
})()`

/** What does not fit where it stands, at the size that the page has now. */
export function misfits(page: Page): Promise<readonly string[]> {
  return page.evaluate(LOOK)
}

/** Everything that the page says in its own language. */
export function wordsOf(page: Page): Promise<readonly Words[]> {
  return page.evaluate(READ)
}

/** The program that judges, in its short form: every page that is judged reads it. */
const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))
/** Rules of axe that depend on colours: what another theme can break. */
const OF_COLOURS: readonly string[] = ['color-contrast', 'link-in-text-block']
/** Of what holds nothing is told, and of what does not, what it is and not by what selector it is found: a sixth of the work. */
const FAULTS_ALONE = { resultTypes: ['violations'], selectors: false }

/** What axe objects to: by all its rules, or by those alone that depend on colours, where the others were asked for in another theme. */
export async function objections(page: Page, rules: 'all' | 'colours' = 'all'): Promise<readonly string[]> {
  // As text by the protocol of the browser: the policy of the page lets no script of another in.
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(readFileSync(AXE, 'utf8'))
  const options =
    rules === 'all' ? FAULTS_ALONE : { ...FAULTS_ALONE, runOnly: { type: 'rule', values: OF_COLOURS } }
  return page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  )
}
