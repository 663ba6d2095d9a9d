import type { PathGroup } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'

/** The group of what names none. */
const OTHER = 'More'
const LAST = 1000

/** How an endpoint is grouped: as its route says, else as its plugin says of the longest path prefix that fits. */
export function groupOf({ route, paths }: Pick<Endpoint, 'route' | 'paths'>): PathGroup & { group: string } {
  const prefix = Object.keys(paths)
    .filter((one) => `${route.path}/`.startsWith(`${one}/`))
    .sort((a, b) => b.length - a.length)[0]
  const said = paths[prefix ?? '']
  const group = route.group ?? said?.group ?? OTHER
  return group === said?.group ? { ...said, group } : { group }
}

/** The tags of a document, by rank, then by name. Of a group that several name, whoever says more of it is heard. */
export function tagsOf(
  endpoints: readonly Pick<Endpoint, 'route' | 'paths'>[],
): readonly { readonly name: string; readonly description?: string }[] {
  const tags = new Map<string, { about: string | undefined; rank: number }>()
  for (const endpoint of endpoints) {
    const { group, about, rank } = groupOf(endpoint)
    const known = tags.get(group)
    tags.set(group, { about: known?.about ?? about, rank: Math.min(known?.rank ?? LAST, rank ?? LAST) })
  }
  return [...tags]
    .sort(([a, one], [b, other]) => one.rank - other.rank || (a < b ? -1 : 1))
    .map(([name, { about }]) => (about === undefined ? { name } : { name, description: about }))
}
