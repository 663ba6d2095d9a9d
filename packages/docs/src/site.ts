import { apiPage, layout } from './layout.ts'
import { htmlOf } from './links.ts'
import { llmsFullText, llmsText } from './llms.ts'
import { groupsOf } from './navigation.ts'
import type { Documentation } from './pages.ts'
import { renderPage } from './render.ts'
import { searchIndex } from './search-index.ts'

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
