import MiniSearch from 'minisearch'
import { apiPage, layout } from './layout.ts'
import { htmlOf } from './links.ts'
import { llmsFullText, llmsText } from './llms.ts'
import { groupsOf } from './navigation.ts'
import { INDEX_OPTIONS, type Passage } from './page/search-options.ts'
import type { Documentation, Page } from './pages.ts'
import { type Rendered, renderPage } from './render.ts'

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
