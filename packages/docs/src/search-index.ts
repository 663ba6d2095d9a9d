import MiniSearch from 'minisearch'
import { htmlOf } from './links.ts'
import { INDEX_OPTIONS, type Passage } from './page/search-options.ts'
import type { Page } from './pages.ts'
import type { Rendered } from './render.ts'

/**
 * The index that pages search, as a script: browsers load no data from files, but scripts. It sets `steepleIndex` to the JSON
 * of a MiniSearch over the sections of all pages.
 */
export function searchIndex(rendered: ReadonlyMap<Page, Rendered>): string {
  const index = new MiniSearch<Passage>(INDEX_OPTIONS)
  for (const [page, { sections }] of rendered)
    index.addAll(
      sections.map(({ anchor, title, text, level }, at) => ({
        id: `${htmlOf(page.path)}${level === 1 || at === 0 ? '' : `#${anchor}`}`,
        title,
        page: page.title,
        text,
      })),
    )
  return `globalThis.steepleIndex=${JSON.stringify(JSON.stringify(index))}\n`
}
