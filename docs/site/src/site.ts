import MiniSearch from 'minisearch'
import { htmlOf, targetOf, wayTo } from './links.ts'
import { INDEX_OPTIONS, type Passage } from './page/search-options.ts'
import { type Documentation, INDEX, type Page } from './pages.ts'
import { type Rendered, renderPage } from './render.ts'

/** Pages of one kind, in the order of the index. */
interface Group {
  readonly title: string
  readonly entries: readonly { readonly path: string; readonly title: string }[]
}

/** A line of a list that begins with a link. */
const ENTRY = /^- \[([^\]]+)\]\(([^)]+)\)/gm

/** The groups of the site: the sections of the index that list pages, and what they list. */
export function groupsOf(documentation: Documentation): readonly Group[] {
  const index = documentation.pages.get(INDEX)
  if (index === undefined) throw new Error(`docs/${INDEX} is not there`)
  return index.text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: section.split('\n', 1)[0] ?? '',
      entries: entriesOf(section, INDEX, documentation),
    }))
    .filter(({ entries }) => entries.length > 0)
}

/** The pages that a text lists, each line beginning with its link. */
export function entriesOf(text: string, from: string, documentation: Documentation): Group['entries'] {
  return [...text.matchAll(ENTRY)].flatMap(([, title = '', href = '']) => {
    const target = targetOf(href, from, documentation)
    return target.kind === 'page' ? [{ path: target.path, title: title.replaceAll('`', '') }] : []
  })
}

/** From this many sections on a page lists them. */
const WORTH_A_LIST = 3

/** What a page of the site puts into the frame that all of them have. */
interface Frame {
  readonly title: string
  /** The way from the page to a file of the site. */
  readonly to: (file: string) => string
  readonly script: string
  /** What the brand says beside the picture, and where it leads. */
  readonly brand: string
  readonly home: string
  readonly searched: string
  /** What stands behind the search. */
  readonly links: string
  readonly navigation: string
  readonly main: string
}

/** A whole page. Everything that it loads lies in the folder of the site; nothing stands inline that a browser would run. */
function framed({ title, to, script, brand, home, searched, links, navigation, main }: Frame): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${to('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${to('site.css')}">
<script defer src="${to(script)}" data-root="${to('') || '.'}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
  <button type="button" id="menu" class="plain" aria-controls="nav" aria-expanded="false">Menu</button>
  <a class="brand" href="${home}"><img src="${to('icon.svg')}" alt="Steeple" width="28" height="28">${brand}</a>
  <label class="search"><span class="hidden">Search ${searched}</span>
    <input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false" role="combobox" aria-expanded="false" aria-controls="hits" aria-autocomplete="list"><kbd>/</kbd>
  </label>
  ${links}
</header>
<div id="hits" role="listbox" aria-label="What was found" hidden></div>
${navigation}
${main}
</body>
</html>
`
}

function layout(page: Page, { html, sections }: Rendered, groups: readonly Group[]): string {
  const to = (file: string): string => wayTo(file, page.path)
  const isIndex = page.path === INDEX
  const parts = sections.filter(({ level }) => level === 2)
  const list = parts.length < WORTH_A_LIST || isIndex ? '' : contents(parts)
  return framed({
    title: escaped(isIndex ? 'Steeple documentation' : `${page.title} – Steeple`),
    to,
    script: 'site.js',
    brand: '<span>Steeple</span> <small>documentation</small>',
    home: to('index.html'),
    searched: 'the documentation',
    links: `<a class="plain" id="api" href="${to('../v1/docs')}" hidden>API</a>`,
    navigation: `<nav id="nav" aria-label="Pages">\n${navigation(page, groups, to)}\n</nav>`,
    main: `<main id="content" tabindex="-1">\n<article>\n${html}${next(page, groups, to)}</article>\n${list}</main>`,
  })
}

/** The page of the API, which its script draws from the document of the service: at `/v1/docs`, and beside the other pages. */
function apiPage(): string {
  return framed({
    title: 'Steeple API',
    to: (file) => `../docs/${file}`,
    script: 'api.js',
    brand: '<span>Steeple API</span> <small id="version"></small>',
    home: '#start',
    searched: 'operations, fields and error codes',
    links: `<a class="plain" id="guides" href="../docs/index.html">Guides</a>
  <button type="button" id="token" class="plain">Set a token</button>`,
    navigation: '<nav id="nav" aria-label="Operations"></nav>',
    main: `<main id="content" tabindex="-1"><p class="loading">Reading the document …</p></main>
<div id="said" class="hidden" role="status" aria-live="polite"></div>
<noscript><p>This page needs scripts. The document that it shows is <a href="../v1/openapi.json">openapi.json</a>.</p></noscript>`,
  })
}

function navigation(page: Page, groups: readonly Group[], to: (file: string) => string): string {
  const here = (path: string): string => (path === page.path ? ' aria-current="page"' : '')
  const isWithin = ({ entries }: Group): boolean =>
    page.path === INDEX || entries.some(({ path }) => path === page.path || isFolderOf(path, page.path))
  return [
    `<a href="${to('index.html')}"${here(INDEX)}>Start here</a>`,
    ...groups.map((group) => {
      const links = group.entries.map(
        ({ path, title }) => `<a href="${to(htmlOf(path))}"${here(path)}>${escaped(title)}</a>`,
      )
      return `<details${isWithin(group) ? ' open' : ''}><summary>${escaped(group.title)}</summary>\n${links.join('\n')}\n</details>`
    }),
  ].join('\n')
}

function isFolderOf(index: string, path: string): boolean {
  return index.endsWith('/README.md') && path.startsWith(index.slice(0, -'README.md'.length))
}

function contents(parts: Rendered['sections']): string {
  const links = parts.map(({ anchor, title }) => `<li><a href="#${anchor}">${escaped(title)}</a></li>`)
  return `<aside class="contents" aria-label="On this page">\n<strong>On this page</strong>\n<ul>\n${links.join('\n')}\n</ul>\n</aside>\n`
}

/** What comes after this page in its group. */
function next(page: Page, groups: readonly Group[], to: (file: string) => string): string {
  const entries = groups.find((group) => group.entries.some(({ path }) => path === page.path))?.entries ?? []
  const following = entries[entries.findIndex(({ path }) => path === page.path) + 1]
  if (following === undefined) return ''
  return `<p class="next">Next: <a href="${to(htmlOf(following.path))}">${escaped(following.title)}</a></p>\n`
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** `llms.txt` (llmstxt.org): what there is, by kind, each page as Markdown beside its HTML. */
export function llmsText(groups: readonly Group[], { pages }: Documentation): string {
  const about = paragraphOf(pages.get(INDEX))
  const lists = groups.map(
    ({ title, entries }) =>
      `## ${title}\n\n${entries.map((entry) => `- [${entry.title}](${entry.path}): ${sentenceOf(pages.get(entry.path))}`).join('\n')}`,
  )
  return `# Steeple\n\n> ${about}\n\nAll of it in one file: [llms-full.txt](llms-full.txt). The API as OpenAPI 3.1: \`GET /v1/openapi.json\` of the running service.\n\n${lists.join('\n\n')}\n`
}

/** `llms-full.txt`: all pages in one file, in the order of the site, the others behind them. */
function llmsFullText(groups: readonly Group[], { pages }: Documentation): string {
  const listed = groups.flatMap(({ entries }) => entries.map(({ path }) => path))
  const paths = new Set([INDEX, ...listed, ...pages.keys()])
  return [...paths]
    .map((path) => pages.get(path))
    .filter((page) => page !== undefined)
    .map(({ path, text }) => `<!-- ${path} -->\n\n${text.trim()}\n`)
    .join('\n')
}

/** The first paragraph of a page, on one line; blocks of commands before it are none. */
function paragraphOf(page: Page | undefined): string {
  const paragraph = /^# .+\n+(?:```[\s\S]*?^```\n+)*((?:[^\n]+\n)+)/m.exec(page?.text ?? '')?.[1] ?? ''
  return paragraph
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .trim()
}

/** Code and what is in brackets have dots and colons of their own. */
const SENTENCE = /^(?:`[^`]*`|\((?:`[^`]*`|[^()`])*\)|.)*?[.:](?= |$)/

function sentenceOf(page: Page | undefined): string {
  const paragraph = paragraphOf(page)
  return SENTENCE.exec(paragraph)?.[0].replace(/:$/, '.') ?? paragraph
}

/** The files of the site that are made of pages, by their paths: HTML, the Markdown that it is made of, the index of the search, `llms.txt`. */
export function siteOf(documentation: Documentation): ReadonlyMap<string, string> {
  const groups = groupsOf(documentation)
  const rendered = new Map(
    [...documentation.pages.values()].map((page) => [page, renderPage(page, documentation)]),
  )
  const files = new Map<string, string>()
  for (const [page, content] of rendered) {
    files.set(htmlOf(page.path), layout(page, content, groups))
    files.set(page.path, page.text)
  }
  files.set('api.html', apiPage())
  files.set('search-index.js', searchIndex(rendered))
  files.set('llms.txt', llmsText(groups, documentation))
  files.set('llms-full.txt', llmsFullText(groups, documentation))
  return files
}

/**
 * The index that pages search, as a script: browsers load no data from files, but scripts. It sets `steepleIndex` to the JSON
 * of a MiniSearch over the sections of all pages.
 */
function searchIndex(rendered: ReadonlyMap<Page, Rendered>): string {
  const index = new MiniSearch<Passage>(INDEX_OPTIONS)
  for (const [page, { sections }] of rendered)
    index.addAll(
      sections.map(({ anchor, title, text, level }, at) => ({
        id: `${htmlOf(page.path)}${level === 1 || at === 0 ? '' : `#${anchor}`}`,
        title,
        page: page.title,
        text: at === 0 ? `${text} ${page.words}` : text,
      })),
    )
  return `globalThis.steepleIndex=${JSON.stringify(JSON.stringify(index))}\n`
}
