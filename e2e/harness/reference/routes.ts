import { type OpenApi, type Operation, operationsOf } from '../openapi.ts'
import { bundledPlugins } from '../plugin-manifests.ts'

/** A plugin of this checkout, by its manifest. */
export interface Part {
  /** The name of its package. */
  readonly name: string
  readonly id: string
  readonly isOptional: boolean
  readonly metrics: Readonly<Record<string, string>>
  readonly errors: readonly { readonly code: string }[]
}

export function partsHere(): readonly Part[] {
  return bundledPlugins().map(({ name, manifest: { id, essential, metrics = {}, errors = [] } }) => ({
    name,
    id,
    isOptional: essential !== true,
    metrics,
    errors,
  }))
}

/** A line of a list or a table, with the mark of the package that a build may lack. */
export function markedLine(line: string, part: Part | undefined): string {
  return part?.isOptional === true ? `${line} <!-- package: ${part.name} -->` : line
}

/** A part of a page, with the marks of the package that a build may lack. */
export function markedPart(text: string, part: Part | undefined): string {
  return part?.isOptional === true ? `<!-- package: ${part.name} -->\n${text}\n<!-- /package -->` : text
}

/** What a page says first. `from`: what it is made of. */
export function head(title: string, from: string, about: string): string {
  return `# ${title}\n\n<!-- Made by e2e/harness/reference/make.ts from ${from}. Do not edit. -->\n\n${about}\n`
}

/** A text as it stands in a cell of a table. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll(/\s+/g, ' ')
}

const ABOUT = `Every route of the service, by task: the lowest role that may call it, its action in the audit trail, and its own error codes. Any
route may also answer the codes in [Using the API](api.md#errors). The running service has fields, schemas and examples: its OpenAPI
document \`GET /v1/openapi.json\`, and the page \`/v1/docs\`.`
/** A code that this share of the routes can answer is told once, in Using the API, and so are those of lists. */
const EVERYWHERE = 0.2
const OF_LISTS: readonly string[] = ['invalid_cursor', 'invalid_limit']
/** The pages and files of the documentation itself. */
const DOCUMENTS = /^((\/v1)?\/docs|\/console-files)\//

export function routesPage(document: OpenApi, parts: readonly Part[]): string {
  const operations = operationsOf(document).filter(({ path }) => !DOCUMENTS.test(path))
  const common = commonCodes(operations)
  const groups = document.tags.map(({ name }) => {
    const own = operations.filter(({ object }) => object.tags.includes(name))
    const owners = new Set(own.map((operation) => partOf(operation, parts)))
    const [only] = owners
    const rows = own.map((operation) => {
      const row = rowOf(operation, common)
      return owners.size === 1 ? row : markedLine(row, partOf(operation, parts))
    })
    const table = `## ${name}\n\n| Route | Lowest role | What it does | Audit action | Own codes |\n|---|---|---|---|---|\n${rows.join('\n')}`
    return own.length === 0 ? [] : [owners.size === 1 ? markedPart(table, only) : table]
  })
  return `${head('Routes', 'the OpenAPI document', ABOUT)}\n${groups.flat().join('\n\n')}\n`
}

/** The plugin whose route it is; undefined for those of the service itself. */
export function partOf({ object }: Operation, parts: readonly Part[]): Part | undefined {
  return parts.find(({ id, name }) => [id, name].includes(object['x-plugin'] ?? ''))
}

function rowOf({ method, path, object }: Operation, common: ReadonlySet<string>): string {
  const [least = 'its own'] = object['x-roles']
  // What a member of the mesh may do beside people, about itself: the lattice of roles does not hold it.
  const isForNodesToo = least !== 'node' && object['x-roles'].includes('node')
  const role = object.security.length === 0 ? 'none' : isForNodesToo ? `${least}; node for itself` : least
  const codes = codesOf(object).filter((code) => !common.has(code))
  return [
    `| \`${method} ${path}\``,
    role,
    cell(object.summary ?? ''),
    object['x-audit-action'] === undefined ? '' : `\`${object['x-audit-action']}\``,
    `${codes.map((code) => `\`${code}\``).join(', ')} |`,
  ].join(' | ')
}

function commonCodes(operations: readonly Operation[]): ReadonlySet<string> {
  const count = new Map<string, number>()
  for (const { object } of operations)
    for (const code of codesOf(object)) count.set(code, (count.get(code) ?? 0) + 1)
  const frequent = [...count].filter(([, n]) => n > EVERYWHERE * operations.length).map(([code]) => code)
  return new Set([...frequent, ...OF_LISTS])
}

/** The error codes that an operation can answer. */
export function codesOf({ responses }: Operation['object']): readonly string[] {
  const codes = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(
      ([, response]) => /"code":\{"enum":\[([^\]]+)\]/.exec(JSON.stringify(response))?.[1]?.split(',') ?? [],
    )
    .map((code) => code.slice(1, -1))
  return [...new Set(codes)].sort()
}
