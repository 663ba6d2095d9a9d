import type { Group } from './navigation.ts'
import { type Documentation, INDEX, type Page } from './pages.ts'

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
export function llmsFullText(groups: readonly Group[], { pages }: Documentation): string {
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
