import MiniSearch from 'minisearch'
import type { Hit } from '../frame.ts'
import { INDEX_OPTIONS, type Passage } from '../search-options.ts'
import { type ApiDocument, type Json, objectOf } from './operations.ts'

/** Operations before error codes that have the same word in their name. */
const OF_ERRORS = 0.1

/** Finds operations by their words, paths and fields, and error codes. */
export function searchOf({ groups, codes }: ApiDocument): (wanted: string) => Promise<readonly Hit[]> {
  const index = new MiniSearch<Passage>(INDEX_OPTIONS)
  const badges = new Map<string, Hit['badge']>()
  for (const { id, method, path, group, summary, ...operation } of groups.flatMap((one) => one.operations)) {
    const names = [
      ...operation.parameters.map(({ name }) => name),
      ...namesIn(operation.bodySchema),
      ...namesIn(operation.answerSchema),
    ]
    const text = [method, group, ...names, operation.description].join(' ')
    index.add({ id: `#${id}`, title: summary, page: path, text })
    badges.set(`#${id}`, [method, method])
  }
  for (const { code, status, meaning } of codes) {
    index.add({ id: `#error-${code}`, title: code, page: meaning, text: String(status) })
    badges.set(`#error-${code}`, [String(status), ''])
  }
  const boostDocument = (id: string): number => (id.startsWith('#error-') ? OF_ERRORS : 1)
  return async (wanted) =>
    index.search(wanted, { boostDocument }).map(({ id, title, page }) => {
      const badge = badges.get(id)
      return { href: id, title: String(title), note: String(page), ...(badge && { badge }) }
    })
}

/** The names of all properties at any depth. */
function namesIn(schema: Json | undefined): readonly string[] {
  if (schema === undefined) return []
  const own = Object.entries(objectOf(schema.properties)).flatMap(([name, value]) => [
    name,
    ...namesIn(objectOf(value)),
  ])
  const members = ['anyOf', 'oneOf', 'allOf'].flatMap((key) =>
    Array.isArray(schema[key]) ? (schema[key] as unknown[]) : [],
  )
  return [
    ...own,
    ...namesIn(schema.items === undefined ? undefined : objectOf(schema.items)),
    ...members.flatMap((one) => namesIn(objectOf(one))),
  ]
}
