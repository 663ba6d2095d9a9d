import createMarkdown, { type MarkdownIt, type Token } from 'markdown-it'
import { htmlOf, slugger, targetOf, wayTo } from './links.ts'
import type { Documentation, Page } from './pages.ts'

/** A heading of a page, and the text below it up to the next one. */
interface Section {
  readonly level: number
  readonly title: string
  /** Its name in the address; '' before the first heading. */
  readonly anchor: string
  readonly text: string
}

/** A page as the site shows it. */
export interface Rendered {
  readonly html: string
  readonly sections: readonly Section[]
}

type Tokens = readonly Token[]

/** Makes pages of Markdown. HTML in it is text; links lead to pages of the site, and what the site lacks is no link. */
export function renderPage(page: Page, documentation: Documentation): Rendered {
  const markdown = createMarkdown({ html: false, linkify: false, typographer: false })
  const tokens = markdown.parse(page.text, {})
  const sections = nameHeadings(tokens)
  for (const { children } of tokens) if (children) pointLinks(children, page.path, documentation)
  emptyHeads(tokens)
  ownTables(markdown)
  return { html: markdown.renderer.render(tokens, markdown.options, {}), sections }
}

/** Gives headings their names, and collects the text below each. */
function nameHeadings(tokens: Tokens): readonly Section[] {
  const slug = slugger()
  const sections: { level: number; title: string; anchor: string; text: string }[] = []
  let current = { level: 1, title: '', anchor: '', text: '' }
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const title = textOf(tokens[at + 1])
      current = { level: Number(token.tag.slice(1)), title, anchor: slug(title), text: '' }
      token.attrSet('id', current.anchor)
      sections.push(current)
    } else if (token.type === 'inline' && tokens[at - 1]?.type !== 'heading_open')
      current.text += `${textOf(token)}\n`
    else if (token.type === 'fence' || token.type === 'code_block') current.text += `${token.content}\n`
  }
  return sections
}

function textOf(token: Token | undefined): string {
  return (token?.children ?? []).map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('')
}

function pointLinks(tokens: Tokens, from: string, documentation: Documentation): void {
  const closing: boolean[] = []
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'link_open') closing.push(pointLink(token, tokens[at + 1], from, documentation))
    else if (token.type === 'link_close' && closing.pop() === false) asText(token)
  }
}

/** Whether it is a link still. */
function pointLink(
  token: Token,
  words: Token | undefined,
  from: string,
  documentation: Documentation,
): boolean {
  const target = targetOf(String(token.attrGet('href') ?? ''), from, documentation)
  if (target.kind === 'as it is') return true
  if (target.kind === 'outside' || target.kind === 'nowhere') {
    asText(token)
    return false
  }
  if (target.kind === 'page') nameByTitle(words, documentation.pages.get(target.path))
  const file = target.kind === 'page' ? htmlOf(target.path) : target.path
  token.attrSet('href', `${wayTo(file, from)}${target.anchor === '' ? '' : `#${target.anchor}`}`)
  return true
}

/** A link whose words are the name of a file says the title of the page instead: readers of the site see no files. */
function nameByTitle(words: Token | undefined, page: Page | undefined): void {
  if (words?.type === 'text' && /^[\w./-]+\.md$/.test(words.content))
    words.content = page?.title ?? words.content
}

/** Leaves the words of a link and takes the link. */
function asText(token: Token): void {
  Object.assign(token, { type: 'text', tag: '', nesting: 0, content: '', attrs: null })
}

/** A column without a name has no heading: an empty one says nothing to who hears the page. */
function emptyHeads(tokens: Tokens): void {
  for (const [at, token] of tokens.entries()) {
    const close = tokens[at + 2]
    if (token.type !== 'th_open' || tokens[at + 1]?.content !== '' || close === undefined) continue
    token.tag = 'td'
    close.tag = 'td'
  }
}

/** Tables and blocks of commands scroll by themselves, by keyboard too, and the page does not. */
function ownTables({ renderer, utils }: MarkdownIt): void {
  renderer.rules.table_open = () => '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>\n'
  renderer.rules.table_close = () => '</table></div>\n'
  const block = (content: string, language: string): string =>
    `<div class="sample"><pre tabindex="0"${language === '' ? '' : ` data-language="${language}"`}><code>${utils.escapeHtml(content)}</code></pre></div>\n`
  renderer.rules.fence = (tokens, at) =>
    block(tokens[at]?.content ?? '', /^\w*/.exec(tokens[at]?.info ?? '')?.[0] ?? '')
  renderer.rules.code_block = (tokens, at) => block(tokens[at]?.content ?? '', '')
}
