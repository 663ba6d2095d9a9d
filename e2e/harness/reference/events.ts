import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import { type OpenApi, operationsOf } from '../openapi.ts'
import { OWN_EVENTS } from './own-events.ts'
import { cell, head, markedLine, type Part } from './parts.ts'
import { partOf } from './routes.ts'

const ABOUT = `Every event of \`GET /v1/events\` ([how the stream works](api.md#events)). A change that somebody asked for is told under the name that it has
in the audit trail. Plugins listen by the same names, or to all of a noun (\`sim.*\`).`

/** Packages whose sources tell no events of the service. */
const NOT_THE_SERVICE = ['contracts', 'testkit', 'testbed', 'lab-core', 'e2e', 'docs']
const TYPES: readonly RegExp[] = [
  /(?:event|tell)\(\{\s*type: '([a-z_]+\.[a-z_.]+)'/g,
  /mutate\(\s*[\w.]+(?:\([^)]*\))?,\s*'([a-z_]+\.[a-z_.]+)'/g,
  /const \w*ACTION\w* = '([a-z_]+\.[a-z_.]+)'/g,
  /\b(?:type|action): '([a-z_]+\.[a-z_.]+)'/g,
]

/** The page of all events. */
export function eventsPage(document: OpenApi, parts: readonly Part[]): string {
  const asked = operationsOf(document)
    .flatMap((operation) => {
      const { method, path, object } = operation
      const type = object['x-audit-action']
      if (type === undefined) return []
      const row = `| \`${type}\` | \`${method} ${path}\` | ${cell(object.summary ?? '')} |`
      return [markedLine(row, partOf(operation, parts))]
    })
    .sort()
  const own = OWN_EVENTS.map(({ type, by, about }) =>
    markedLine(
      `| \`${type}\` | ${cell(about)} |`,
      parts.find(({ name }) => name === by),
    ),
  )
  return `${head('Events', 'routes and sources', ABOUT)}
## Changes that were asked for

| Event | Comes of | What was done |
|---|---|---|
${asked.join('\n')}

## What happens by itself

| Event | When |
|---|---|
${own.join('\n')}
`
}

/** Events that sources tell and that neither a route nor the page of events knows. */
export function unknownEvents(document: OpenApi): readonly string[] {
  const known = new Set([
    ...operationsOf(document).map(({ object }) => object['x-audit-action']),
    ...OWN_EVENTS.map(({ type }) => type),
  ])
  return readdirSync(join(ROOT, 'packages'))
    .filter((name) => !NOT_THE_SERVICE.includes(name))
    .flatMap((name) => typesIn(join(ROOT, 'packages', name, 'src')).map((type) => ({ name, type })))
    .filter(({ type }) => !known.has(type))
    .map(({ name, type }) => `${type} of ${name}`)
}

function typesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .flatMap((text) => TYPES.flatMap((pattern) => [...text.matchAll(pattern)].map(([, type = '']) => type)))
}
