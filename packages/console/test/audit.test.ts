import { createHash } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type Entry, verifyChain } from '../src/pages/audit/chain.ts'
import { inBrowser, open, Refusal } from './support/page.ts'

/** The trail: what is read of it, and whether it holds. */
const audit = suite('console/audit')
inBrowser(audit)

interface Told {
  readonly action: string
  readonly target: string
  readonly name: string
  readonly detail: object
  readonly request: string | null
}

/** As docs/explanation/audit.md writes the content that a hash covers, key by key. */
function hashOf({ at, principal: { id, kind, name }, ...entry }: Omit<Entry, 'hash'>): string {
  const text =
    `{"action":${JSON.stringify(entry.action)},"at_ms":${Date.parse(at)},"detail":${sorted(entry.detail)},` +
    `"outcome":${JSON.stringify(entry.outcome)},"prev_hash":"${entry.prev_hash}",` +
    `"principal":{"id":${JSON.stringify(id)},"kind":${JSON.stringify(kind)},"name":${JSON.stringify(name)}},` +
    `"request_id":${JSON.stringify(entry.request_id)},"seq":${entry.seq},"target":${JSON.stringify(entry.target)}}`
  return createHash('sha256').update(text).digest('hex')
}

/** An object of texts and numbers with its keys in order. */
function sorted(detail: object): string {
  const keys = Object.keys(detail).sort((a, b) => (a < b ? -1 : 1))
  return `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(Reflect.get(detail, key))}`).join(',')}}`
}

const TOLD: Told = {
  action: 'sim.issue',
  target: 'b-1',
  name: 'ada',
  detail: { count: 2, a: 'x' },
  request: 'r',
}

/** A trail that holds, newest first; its first entry has the number `first`. */
function trailOf(told: readonly Told[], first = 1): readonly Entry[] {
  const all: Entry[] = []
  for (const [at, { action, target, name, detail, request }] of told.entries()) {
    const entry = {
      ...{ seq: first + at, at: new Date(1_767_225_600_000 + at).toISOString(), action, target },
      ...{ outcome: 'ok' as const, label: null, request_id: request, detail: detail as never },
      ...{ principal: { kind: 'user' as const, id: `u-${at}`, name } },
      prev_hash: all[0]?.hash ?? '0'.repeat(64),
    } as Omit<Entry, 'hash'>
    all.unshift({ ...entry, hash: hashOf(entry) })
  }
  return all
}

const many = (count: number): readonly Told[] => Array.from({ length: count }, () => TOLD)

/** Reads a trail in pages of that many entries. */
function reader(entries: readonly Entry[], rows = 500) {
  return async ({ cursor = '0' }: { readonly cursor?: string }) => {
    const to = Number(cursor) + rows
    const next_cursor = to < entries.length ? String(to) : null
    const data = { entries: entries.slice(Number(cursor), to), next_cursor }
    return { ok: true, data, status: 200, etag: undefined, requestId: undefined, isReplayed: false } as never
  }
}

async function faultOf(entries: readonly Entry[], rows?: number) {
  return (await verifyChain(reader(entries, rows), () => undefined)).fault
}

audit(
  'finds a trail in order, in one page or in many, from its beginning or from where retention left it',
  async () => {
    for (const [count, first, rows] of [
      [0, 1, 500],
      [1, 1, 500],
      [7, 1, 3],
      [6, 40, 3],
    ] as const) {
      const told: number[] = []
      const entries = trailOf(many(count), first)
      const found = await verifyChain(reader(entries, rows), (checked) => told.push(checked))
      const { checked, fault, error, oldest, newest } = found
      assert.equal([checked, fault, error], [count, undefined, undefined])
      assert.equal(
        [newest?.seq, oldest?.seq],
        count === 0 ? [undefined, undefined] : [first + count - 1, first],
      )
      assert.is(told.at(-1), count)
    }
  },
)

audit('covers any text and number that an entry may have', async () => {
  const text = fc.string({ unit: 'grapheme' })
  const told = fc.record({
    ...{ action: text, target: text, name: text, request: fc.option(text, { nil: null }) },
    detail: fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      fc.oneof(text, fc.integer(), fc.boolean()),
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(told, { maxLength: 4 }), async (all) => {
      assert.is(await faultOf(trailOf(all)), undefined)
    }),
    { numRuns: 50 },
  )
})

audit('says of which entry anything was changed', async () => {
  const changes: readonly ((entry: Entry) => Entry)[] = [
    (entry) => ({ ...entry, action: 'sim.revoke' }),
    (entry) => ({ ...entry, target: 'b-2' }),
    (entry) => ({ ...entry, outcome: 'denied' }),
    (entry) => ({ ...entry, at: '2026-01-01T00:00:01.000Z' }),
    (entry) => ({ ...entry, request_id: null }),
    (entry) => ({ ...entry, detail: { count: 3, a: 'x' } as never }),
    (entry) => ({ ...entry, principal: { ...entry.principal, name: 'bo' } }),
    (entry) => ({ ...entry, principal: { ...entry.principal, id: 'u-9' } }),
  ]
  const entries = trailOf(many(5))
  for (const change of changes)
    for (const place of [0, 2, 4]) {
      const wrong = entries.with(place, change(entries[place] as Entry))
      assert.equal(await faultOf(wrong, 2), { seq: 5 - place, kind: 'content' }, String(change))
    }
  // Written anew with its hash: the entry after it has followed another one.
  const forged = { ...(entries[2] as Entry), action: 'sim.revoke' }
  assert.equal(await faultOf(entries.with(2, { ...forged, hash: hashOf(forged) })), { seq: 3, kind: 'link' })
  // What labels say is read when it is shown.
  assert.is(await faultOf(entries.with(2, { ...(entries[2] as Entry), label: 'village' })), undefined)
})

audit('says after which entry some are missing, within a page and between two', async () => {
  const entries = trailOf(many(6))
  for (const rows of [2, 3, 500])
    assert.equal(await faultOf(entries.toSpliced(2, 1), rows), { seq: 3, kind: 'gap' }, `${rows}`)
  assert.equal(await faultOf(entries.toSpliced(1, 3)), { seq: 2, kind: 'gap' })
})

audit('shows what was checked, what could not be, and what to do about what does not hold', async () => {
  const entries = trailOf(many(2), 7)
  const page = await open('/audit', { 'GET /v1/audit': { entries, next_cursor: null } })
  await page.press('Check the trail')
  assert.match(page.text(), '2 entries checked. Nothing was changed')
  assert.match(page.text(), 'Entries before entry 7: retention removed them.')
  const [newest, oldest] = entries as [Entry, Entry]
  page.answer({ 'GET /v1/audit': { entries: [{ ...newest, target: 'x' }, oldest], next_cursor: null } })
  await page.press('Check the trail')
  assert.match(page.text(), 'Entry 8 was changed: its hash does not match its content.')
  assert.match(page.text(), 'Do not change anything. Run svc audit verify on the box')
  // The first page holds, and the second cannot be read: that is said, and nothing is well.
  page.answer({
    'GET /v1/audit': ({ query }) =>
      query.cursor === undefined
        ? { entries: [newest], next_cursor: 'c' }
        : new Refusal(403, 'forbidden', 'no'),
  })
  await page.press('Check the trail')
  assert.match(page.text(), '1 entry checked.')
  assert.match(page.text(), 'forbidden')
})

audit('asks for what the address says, and for nothing that it cannot say', async () => {
  const from = new Date(2026, 0, 2, 3, 4).toISOString()
  for (const [address, query] of [
    ['', {}],
    ['?action=sim.issue&target=b-1', { action: 'sim.issue', target: 'b-1' }],
    ['?principal=u-1&from=2026-01-02T03:04', { principal: 'u-1', from }],
    ['?from=yesterday&to=', {}],
    ['?outcome=ok', {}],
  ] as const) {
    const page = await open(`/audit${address}`, { 'GET /v1/audit': { entries: [], next_cursor: null } })
    const { limit: _, ...asked } = page.asked()[0]?.query ?? {}
    assert.equal(asked, query, address)
  }
})

audit('narrows the list by who did something, and by what was done to', async () => {
  const entries = trailOf([TOLD, { ...TOLD, name: 'bo', target: 'b-2' }])
  const page = await open('/audit', { 'GET /v1/audit': { entries, next_cursor: null } })
  assert.equal(
    page.rows().map((row) => row.slice(1)),
    [
      ['bo', 'Issue SIMs', 'b-2', 'done'],
      ['ada', 'Issue SIMs', 'b-1', 'done'],
    ],
  )
  await page.press('Only by ada')
  assert.is(page.address(), '/audit?principal=u-0')
  await page.press('Issue SIMs, entry 2')
  assert.is(page.dialog(), 'Issue SIMs')
  // Both how many, and what else its detail says.
  assert.match(page.text(), /^count$\n^2$\n^a$\n^x$/m)
  await page.press('Only this target')
  assert.is(page.dialog(), undefined)
  assert.is(page.address(), '/audit?principal=u-0&target=b-2')
  await page.press('Clear filters')
  assert.is(page.address(), '/audit')
})

audit('tells disarming by the action that also arms, and names SIMs by their labels', async () => {
  const disarm: Told = { ...TOLD, action: 'tx.arm', detail: { arm: false }, target: 'tx' }
  const [one] = trailOf([disarm]) as [Entry]
  const hash = '0123456789ab'
  const sim = { ...one, seq: 2, action: 'sim.suspend', target: hash, label: 'village 07', outcome: 'denied' }
  const page = await open('/audit', { 'GET /v1/audit': { entries: [sim, one], next_cursor: null } })
  assert.equal(
    page.rows().map((row) => row.slice(2)),
    [
      ['Suspend a SIM', 'village 07', 'denied'],
      ['Stop transmitting', 'tx', 'done'],
    ],
  )
})

audit.run()
