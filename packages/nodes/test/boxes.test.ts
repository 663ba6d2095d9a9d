import type { ComponentState } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { incidentRecords, incidentsOf } from '../src/incidents.ts'
import { isNarrowed, type NodeQuery, type NodeRecord, narrowedPage } from '../src/node-routes.ts'
import { boxSum, shownComponents } from '../src/service-routes.ts'
import { component } from './helpers.ts'

/** Many boxes, as the root of their mesh shows them. */
const boxes = suite('nodes/boxes')

const part = (name: string, status: ComponentState['status'], sinceMs = 1): ComponentState =>
  component({ name: `node/${name}`, kind: 'peer', status, box: name.split('/')[0] ?? '', sinceMs })

boxes('are summed up, each once, the worst of it', () => {
  const all = [
    component({ name: 'store' }),
    ...[part('own', 'down'), part('own/x', 'down')],
    ...Array.from({ length: 287 }, (_, index) => part(`w${index}`, 'ok')),
    ...Array.from({ length: 9 }, (_, index) => [
      part(`s${index}`, 'down'),
      part(`s${index}/core`, 'degraded'),
    ]).flat(),
    ...Array.from({ length: 3 }, (_, index) => [
      part(`i${index}`, 'ok'),
      part(`i${index}/core`, 'down'),
    ]).flat(),
    part('clock', 'degraded'),
  ]
  assert.equal(boxSum(all, 'own'), { total: 300, well: 287, not_well: 4, silent: 9 })
})

boxes('that are well are not listed, nor more than twenty that are not', () => {
  const own = [component({ name: 'store' }), component({ name: 'sims', status: 'degraded' })]
  const ill = Array.from({ length: 30 }, (_, index) =>
    part(`b${index}`, index % 2 === 0 ? 'degraded' : 'down', 100 - index),
  )
  const shown = shownComponents([...own, part('well', 'ok'), ...ill])
  assert.equal([shown.length, shown[0]?.name, shown[1]?.name], [22, 'store', 'sims'])
  const rest = shown.slice(2)
  assert.is(rest.filter(({ status }) => status === 'down').length, 15)
  assert.equal(
    [rest[0]?.name, rest[15]?.name],
    ['node/b29', 'node/b28'],
    'what is down and oldest comes first',
  )
})

interface Shown {
  readonly id: string
  readonly title: string
  readonly detail: string
  readonly box: string | null
  readonly boxes: { readonly count: number; readonly names: readonly string[] }
  readonly effects: readonly string[]
}

function shownOf(components: readonly ComponentState[]): readonly Shown[] {
  return incidentRecords(incidentsOf(components, undefined)) as readonly Shown[]
}

boxes('that are not well are one row from the fourth on, and all are counted', () => {
  const ill = (count: number) => Array.from({ length: count }, (_, index) => part(`b${index}/core`, 'down'))
  assert.equal(
    shownOf(ill(3)).map(({ id, box }) => [id, box]),
    [0, 1, 2].map((index) => [`part:node/b${index}`, `b${index}`]),
  )
  const [sum, ...others] = shownOf([
    ...ill(300),
    component({ name: 'sims', kind: 'feature', status: 'degraded' }),
  ])
  assert.equal(
    [sum?.id, sum?.title, sum?.box, sum?.boxes.count, sum?.boxes.names.length, sum?.effects.length],
    ['part:boxes', '300 boxes are not well', null, 300, 20, 20],
  )
  assert.match(sum?.detail ?? '', /^b0, b1, b\d+, b\d+, b\d+ and 295 more$/)
  assert.equal(
    others.map(({ id }) => id),
    ['part:sims'],
  )
})

boxes('that are silent are named', () => {
  const [one] = shownOf([part('hill', 'down')])
  assert.equal([one?.box, one?.boxes], ['hill', { count: 1, names: ['hill'] }])
  const [two] = shownOf([part('hill', 'down'), part('vale', 'down')])
  assert.equal([two?.title, two?.detail, two?.box], ['2 boxes do not answer', 'hill, vale', null])
})

const node = (id: string, more: object = {}): NodeRecord => ({
  ...{ node_id: id, name: `box ${id}`, state: 'on-air', version: '0.3.0', last_seen: '2026-01-01T00:00:00Z' },
  ...{ phones: null, sims: 1, octets_today: 0, backlog: 0, ...more },
})

async function idsOf(all: readonly NodeRecord[], query: NodeQuery): Promise<readonly string[]> {
  const ids: string[] = []
  let after: readonly (string | number)[] | undefined
  do {
    const cursor = (position: readonly (string | number)[]): string => JSON.stringify(position)
    const page = (await narrowedPage(all, query, { limit: 2, after, cursor })) as {
      readonly nodes: readonly NodeRecord[]
      readonly next_cursor: string | null
    }
    ids.push(...page.nodes.map(({ node_id }) => String(node_id)))
    after = page.next_cursor === null ? undefined : JSON.parse(page.next_cursor)
  } while (after !== undefined)
  return ids
}

boxes('are searched and sorted, page by page', async () => {
  const all = [
    ...[node('a', { phones: 3 }), node('b', { phones: 20, name: 'Hill 10' }), node('c', { name: 'hill 9' })],
    ...[node('d', { phones: 4, state: 'degraded' }), node('e', { phones: 3, version: '0.2.0' })],
  ]
  assert.equal(await idsOf(all, { sort: 'phones' }), ['a', 'e', 'd', 'b', 'c'])
  assert.equal(await idsOf(all, { sort: '-phones' }), ['b', 'd', 'a', 'e', 'c'])
  assert.equal(await idsOf(all, { q: 'HILL', sort: 'name' }), ['c', 'b'])
  assert.equal(await idsOf(all, { state: 'degraded' }), ['d'])
  assert.equal(await idsOf(all, { version: '0.3.0' }), ['a', 'b', 'c', 'd'])
  assert.equal([isNarrowed({}), isNarrowed({ q: 'a' })], [false, true])
})

boxes.run()
