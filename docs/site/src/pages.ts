import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepFor, readFront } from './marks.ts'

export interface Page {
  /** From the folder of the documentation, as `how-to/sims.md`. */
  readonly path: string
  readonly title: string
  /** Markdown without marks. */
  readonly text: string
  /** Words for the search that the text does not have. */
  readonly words: string
}

export interface Documentation {
  /** By path. */
  readonly pages: ReadonlyMap<string, Page>
  /** What pages name and people take as it is: programs, dashboards. Paths from the folder. */
  readonly files: readonly string[]
}

/** Where the list of all pages is, in the order in which the site has them. */
export const INDEX = 'README.md'
/** Where the build puts pages that are made of programs. */
export const MADE = 'docs/site/made'

/**
 * Reads the documentation below `root`/docs as a build without `lacks` has it. Throws when marks do not fit, or a page
 * has no title.
 */
export function readDocumentation(root: string, lacks: ReadonlySet<string>): Documentation {
  const all = ['docs', MADE]
    .flatMap((folder) => filesBelow(join(root, folder)))
    // Pictures are for readers of the repository: the box shows the thing itself. `site` is this package.
    .filter(({ path }) => !/^(images|site)\//.test(path))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  const pages = new Map<string, Page>()
  for (const { path, file } of all.filter((one) => one.path.endsWith('.md'))) {
    const { needs, words, text } = readFront(readFileSync(file, 'utf8'))
    if (needs !== undefined && lacks.has(needs)) continue
    pages.set(path, { ...pageOf(path, text, lacks), words })
  }
  return { pages, files: all.map(({ path }) => path).filter((path) => !path.endsWith('.md')) }
}

function filesBelow(folder: string): readonly { readonly path: string; readonly file: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: file.slice(folder.length + 1), file }))
}

function pageOf(path: string, source: string, lacks: ReadonlySet<string>): Omit<Page, 'words'> {
  try {
    const text = keepFor(source, lacks)
    const title = /^# (.+)$/m.exec(text)?.[1]
    if (title === undefined) throw new Error('there is no title')
    return { path, title: title.replaceAll('`', ''), text }
  } catch (cause) {
    throw new Error(`docs/${path}: ${cause instanceof Error ? cause.message : 'unreadable'}`, { cause })
  }
}
