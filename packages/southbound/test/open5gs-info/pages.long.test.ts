import { type ListedCore, listedCore } from '@steeple/lab-core'
import { assert, rounds, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { type ListEnds, pagesOf, parsePage } from '../../src/open5gs-info/pages.ts'

/** A list as the MME serves it. */
interface PagedList extends ListedCore<'mme'>, AsyncDisposable {
  items: unknown[]
}

async function pagedList(items: unknown[]): Promise<PagedList> {
  const core = await listedCore(['mme'], { list: () => list.items })
  const list: PagedList = Object.assign(core, { items, [Symbol.asyncDispose]: () => core.close() })
  return list
}

const pages = suite('open5gs-info/pages')
const PATH = '/ue-info'
const ue = (n: number) => ({ supi: String(n) })
const ues = (count: number) => Array.from({ length: count }, (_, n) => ue(n))

async function walk(list: PagedList, ends?: ListEnds): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  const signal = AbortSignal.timeout(60_000)
  for await (const items of pagesOf({ daemon: 'mme', base: list.url('mme'), path: PATH }, signal, ends))
    for (const name of namesOf(items)) seen.add(name)
  return seen
}

/** What happens to a list between two pages. */
interface Change {
  /** `crowd`: more than a page comes. */
  readonly what: 'leaves' | 'comes' | 'crowd' | 'moves'
  /** Where, as a part of the list; a phone, when it is one of those that were there at first. */
  readonly at: number | `phone ${number}`
}

const part = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ what: fc.constantFrom('leaves' as const, 'comes' as const, 'moves' as const), at: part }),
  fc.record({ what: fc.constant('crowd' as const), at: part }),
  // Few phones, so that the same ones move twice, and those of the end that a walk goes by.
  fc.record({
    what: fc.constant('moves' as const),
    at: fc.constantFrom('phone 0', 'phone 199', 'phone 200'),
  }),
)

/** What a walk holds to is said of phones that move so often, and of so many moves in all. */
const MOVES_EACH = 2
const MOVES_ALL = 50

const namesOf = (items: readonly unknown[]) => items.map((item) => (item as { supi: string }).supi) // as `ue` has them

/** A list that changes as phones come, leave and move. */
function changing({ items }: PagedList) {
  const left = new Set<string>()
  const moved: string[] = []
  let next = 10_000
  const comes = (count: number): void => {
    for (let n = 0; n < count; n += 1) items.push(ue(next + n))
    next += count
  }
  const isMovedEnough = (name: string): boolean =>
    moved.length >= MOVES_ALL || moved.filter((each) => each === name).length >= MOVES_EACH
  const goes = (isMove: boolean, index: number, name: string | undefined): void => {
    if (name === undefined || (isMove && isMovedEnough(name))) return
    const one = items.splice(index, 1)
    if (isMove) items.push(...one)
    if (isMove) moved.push(name)
    else left.add(name)
  }
  const happens = ({ what, at }: Change): void => {
    if (what === 'comes') comes(1)
    if (what === 'crowd') comes(130)
    if (what === 'comes' || what === 'crowd') return
    const names = namesOf(items)
    const index = typeof at === 'number' ? Math.floor(at * items.length) : names.indexOf(at.slice(6))
    goes(what === 'moves', index, names[index])
  }
  return { left, happens }
}

const comes = (count: number): readonly Change[] =>
  Array.from({ length: count }, () => ({ what: 'comes', at: 0 }))
const moves = (phone: number): Change => ({ what: 'moves', at: `phone ${phone}` })
const EXAMPLES = [
  // The first phone moves behind the end, and one of the end after it.
  {
    length: 95,
    hint: 4,
    between: [
      [...comes(4)],
      [],
      [],
      [...comes(3), { what: 'moves', at: 0 } as const],
      [{ what: 'moves', at: 0 } as const, { what: 'leaves', at: 0 } as const],
    ],
  },
  // The one phone of the last page moves after it: it is on its page again, and says nothing of where the end began.
  { length: 201, hint: 2, between: [[], [moves(0), moves(200)]] },
  // It moves before its page is read, more than a page comes behind it, and it moves again while the end is read again.
  { length: 201, hint: 2, between: [[], [moves(0), ...comes(130)], [], [], [moves(0)]] },
]

pages(
  'sees each phone that is listed all the while, whatever comes, leaves and moves between two pages',
  async () => {
    const plan = fc.record({
      length: fc.nat(450),
      hint: fc.nat(6),
      between: fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 16 }),
    })
    await using list = await pagedList([])
    await fc.assert(
      fc.asyncProperty(plan, async ({ length, hint, between }) => {
        list.items = ues(length)
        const { left, happens } = changing(list)
        let asked = 0
        list.afterPage = () => {
          for (const one of between[asked] ?? []) happens(one)
          asked += 1
        }
        const seen = await walk(list, new Map([[`${list.url('mme')}${PATH}`, hint]]))
        const missed = ues(length).filter(({ supi }) => !left.has(supi) && !seen.has(supi))
        assert.equal(missed, [])
      }),
      { numRuns: rounds(60), examples: EXAMPLES.map((example) => [example] as const) },
    )
  },
)

pages('asks once for a list of one page, and of a long one little more than its pages', async () => {
  await using list = await pagedList(ues(100))
  const ends: ListEnds = new Map()
  assert.is((await walk(list, ends)).size, 100)
  assert.equal(list.asked, [{ daemon: 'mme', path: '/ue-info?page=0' }])
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
