import { targetOf } from './links.ts'
import { type Documentation, INDEX } from './pages.ts'

/** Pages of one kind, in the order of the index. */
export interface Group {
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
