import { type JsonSchema, type Page, PLAIN_TEXT_PATTERN, pageFrom } from '@steeple/contracts'

/** What a list of nodes can be sorted by, beside the order in which they came. */
type Sorted = 'name' | 'state' | 'version' | 'last_seen' | 'phones' | 'sims' | 'octets_today' | 'backlog'
const SORTED: readonly Sorted[] = [
  ...(['name', 'state', 'version', 'last_seen', 'phones', 'sims', 'octets_today', 'backlog'] as const),
]

/** A node as the list shows it, as far as it is sorted and narrowed by. */
export type NodeRecord = Readonly<Record<Sorted | 'node_id', string | number | null>>

/** What narrows and sorts a list of nodes. */
export interface NodeQuery {
  readonly q?: string
  readonly state?: string
  readonly version?: string
  readonly sort?: Sorted | `-${Sorted}`
}

const WORD: JsonSchema = { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN }

/** The parameters of `NodeQuery`. */
export const NODE_QUERY: Readonly<Record<keyof NodeQuery, JsonSchema>> = {
  q: { ...WORD, description: 'Part of the name, or the beginning of the id.' },
  state: { ...WORD, description: 'As in the answer: degraded, on-air, …' },
  version: WORD,
  sort: {
    type: 'string',
    enum: SORTED.flatMap((name) => [name, `-${name}`]),
    description: 'With - in front: descending. Nodes without a value come last. Without it: oldest first.',
  },
}

/** Whether a query asks for more than pages in the order of the table. */
export function isNarrowed(query: NodeQuery): boolean {
  return Object.keys(NODE_QUERY).some((name) => query[name as keyof NodeQuery] !== undefined)
}

/** A page of the nodes that a query means: a mesh has a thousand, and all are looked at. */
export async function narrowedPage(
  all: readonly NodeRecord[],
  query: NodeQuery,
  page: Page,
): Promise<object> {
  const wanted = all.filter((node) => isWanted(node, query))
  const { sort } = query
  const key = (sort?.replace('-', '') ?? 'name') as Sorted
  const sorted = sort === undefined ? wanted : wanted.toSorted(comparing(key, sort.startsWith('-')))
  // A position that was there: who has gone meanwhile is looked for by where the list went on.
  const [at = 0, id = ''] = page.after ?? []
  const found = sorted.findIndex(({ node_id }) => node_id === id)
  const rest = page.after === undefined ? sorted : sorted.slice(found < 0 ? Number(at) : found + 1)
  const position = (node: NodeRecord): readonly (string | number)[] => [
    sorted.indexOf(node),
    String(node.node_id),
  ]
  return await pageFrom(page, 'nodes', rest.slice(0, page.limit + 1), (node) => node, position)
}

function isWanted(node: NodeRecord, { q, state, version }: NodeQuery): boolean {
  const text = q?.toLowerCase() ?? ''
  const isNamed = String(node.name).toLowerCase().includes(text) || String(node.node_id).startsWith(text)
  return (
    isNamed &&
    (state === undefined || node.state === state) &&
    (version === undefined || node.version === version)
  )
}

function comparing(key: Sorted, isDown: boolean): (one: NodeRecord, other: NodeRecord) => number {
  return (one, other) => {
    const [a, b] = [one[key], other[key]]
    if (a === b) return String(one.node_id) < String(other.node_id) ? -1 : 1
    if (a === null || b === null) return a === null ? 1 : -1
    return isDown ? -order(a, b) : order(a, b)
  }
}

function order(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), 'en', { numeric: true })
}
