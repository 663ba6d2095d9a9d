import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { type ListEnds, pagesOf, parsePage } from '../src/pages.ts'
import { type PagedList, pagedList } from './support/paged-list.ts'

const pages = suite('open5gs-info/pages')
const PATH = '/ue-info'
const ue = (n: number) => ({ supi: String(n) })
const ues = (count: number) => Array.from({ length: count }, (_, n) => ue(n))

async function walk(list: PagedList, ends?: ListEnds): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  const signal = AbortSignal.timeout(60_000)
  for await (const items of pagesOf({ daemon: 'mme', base: list.base, path: PATH }, signal, ends))
    for (const item of items) seen.add((item as { supi: string }).supi) // as the list above has them
  return seen
}

/** What happens to a list between two pages. */
interface Change {
  readonly what: 'leaves' | 'comes' | 'moves'
  /** Where, as a part of the list. */
  readonly at: number
}

const change: fc.Arbitrary<Change> = fc.record({
  what: fc.constantFrom('leaves', 'comes', 'moves'),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
})

function happens({ items }: PagedList, { what, at }: Change, next: number, left: Set<string>): void {
  if (what === 'comes') {
    items.push(ue(next))
    return
  }
  const [one] = items.splice(Math.floor(at * items.length), 1)
  if (one === undefined) return
  if (what === 'moves') items.push(one)
  else left.add((one as { supi: string }).supi) // as the list has them
}

const comes = (count: number): readonly Change[] =>
  Array.from({ length: count }, () => ({ what: 'comes', at: 0 }))
/** The first phone moves behind the end, and one of the end after it. */
const MOVED_TWICE = {
  length: 95,
  hint: 4,
  between: [
    [...comes(4)],
    [],
    [],
    [...comes(3), { what: 'moves', at: 0 } as const],
    [{ what: 'moves', at: 0 } as const, { what: 'leaves', at: 0 } as const],
  ],
}

pages(
  'sees each phone that is listed all the while, whatever comes, leaves and moves between two pages',
  async () => {
    const plan = fc.record({
      length: fc.nat(450),
      hint: fc.nat(6),
      between: fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 12 }),
    })
    await using list = await pagedList([])
    await fc.assert(
      fc.asyncProperty(plan, async ({ length, hint, between }) => {
        list.items = ues(length)
        const left = new Set<string>()
        let asked = 0
        list.afterPage = () => {
          for (const [index, one] of (between[asked] ?? []).entries())
            happens(list, one, 10_000 + 100 * asked + index, left)
          asked += 1
        }
        const seen = await walk(list, new Map([[`${list.base}${PATH}`, hint]]))
        const missed = ues(length).filter(({ supi }) => !left.has(supi) && !seen.has(supi))
        assert.equal(missed, [])
      }),
      { numRuns: 300, examples: [[MOVED_TWICE]] },
    )
  },
  { limitMs: 360_000 },
)

pages('asks once for a list of one page, and of a long one little more than its pages', async () => {
  await using list = await pagedList(ues(100))
  const ends: ListEnds = new Map()
  assert.is((await walk(list, ends)).size, 100)
  assert.equal(list.asked, ['/ue-info?page=0'])
  list.items = ues(10_000)
  assert.is((await walk(list, ends)).size, 10_000)
  list.asked.length = 0
  assert.is((await walk(list, ends)).size, 10_000)
  // The end, all before it, and the end again.
  assert.is(list.asked.length, 101)
  list.items = ues(3)
  assert.is((await walk(list, ends)).size, 3)
  list.asked.length = 0
  assert.is((await walk(list, ends)).size, 3)
  assert.is(list.asked.length, 1)
})

pages('takes a page for none when the core says that it could not print all of it', () => {
  assert.is(parsePage('{"items":[],"pager":{"page":0,"count":0,"truncated":true}}'), undefined)
  assert.is(parsePage('{}'), undefined)
  assert.equal(parsePage('{"items":[1],"pager":{"next":"/ue-info?page=1"}}'), { items: [1], hasNext: true })
})

pages.run()
