import { type ComponentState, type JsonSchema, recordSchema } from '@steeple/contracts'

/** `node/<id>`: the heartbeat of another box; `node/<id>/<name>`: a part of it. */
const BOX = /^node\/([^/]+)(\/|$)/
/** Parts of other boxes that answers show: a mesh of a thousand may lose its root's line at once. */
const MOST_SHOWN = 20

const COUNT = { type: 'integer', minimum: 0 } as const

/** The sum of the other boxes as answers show it. */
export const BOXES_SCHEMA: JsonSchema = {
  ...recordSchema({
    total: { ...COUNT, description: 'Other boxes that have sent a heartbeat here.' },
    well: COUNT,
    not_well: {
      ...COUNT,
      description: 'Those that answer, with a part that is not ok or a clock that is off.',
    },
    silent: { ...COUNT, description: 'Those without a heartbeat for three of its intervals.' },
  }),
  description: 'The other boxes of the mesh, summed up. GET /v1/nodes has each.',
}

/** How many boxes beside this one are well, and how many are not. */
export function boxSum(components: readonly ComponentState[], ownId: string): object {
  const worst = new Map<string, 'well' | 'not_well' | 'silent'>()
  for (const { name, status } of components) {
    const [, id, rest] = BOX.exec(name) ?? []
    if (id === undefined || id === ownId) continue
    if (rest === '' && status === 'down') worst.set(id, 'silent')
    else if (status !== 'ok' && worst.get(id) !== 'silent') worst.set(id, 'not_well')
    else if (!worst.has(id)) worst.set(id, 'well')
  }
  const count = (what: string): number => [...worst.values()].filter((one) => one === what).length
  return {
    total: worst.size,
    well: count('well'),
    not_well: count('not_well'),
    silent: count('silent'),
  }
}

/** What answers list: everything of this box, and of others what is not well, what is down and oldest first. */
export function shownComponents(components: readonly ComponentState[]): readonly ComponentState[] {
  const own = components.filter(({ name }) => !BOX.test(name))
  const others = components
    .filter(({ name, status }) => BOX.test(name) && status !== 'ok')
    .toSorted(
      (one, other) =>
        Number(other.status === 'down') - Number(one.status === 'down') || one.sinceMs - other.sinceMs,
    )
  return [...own, ...others.slice(0, MOST_SHOWN)]
}
