import { assert, suite } from '@steeple/testkit'
import { Double, Int32, Long } from 'bson'
import type { Doc } from '../../src/links/document-link.ts'
import { differencesOf } from '../../src/open5gs/open5gs-driver.ts'
import { upsertWrites } from '../../src/open5gs/writes.ts'
import { subscriber } from '../support/subscribers.ts'

const differences = suite('driver-hss/open5gs/differences')
const SLICES = [{ sst: 1 }]
const ONE = subscriber(7)

/** The document that an upsert leaves where there was none. */
function stored(): Doc {
  const [write] = upsertWrites(ONE, undefined, SLICES)
  assert.ok(write !== undefined && 'updateOne' in write)
  const { $set, $setOnInsert } = write.updateOne.update as { $set: Doc; $setOnInsert: Doc }
  const doc: Record<string, unknown> = { imsi: ONE.imsi }
  for (const [path, value] of Object.entries({ ...$set, ...$setOnInsert })) {
    const [head = '', leaf] = path.split('.')
    if (leaf === undefined) doc[head] = value
    else doc[head] = { ...(doc[head] as Doc | undefined), [leaf]: value }
  }
  return doc
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null || '_bsontype' in value) return value
  const entries = Object.entries(value).map(([key, part]) => [key, reversed(part)] as const)
  return Object.fromEntries(entries.toReversed())
}

function fieldsOf(doc: Doc): readonly string[] {
  return differencesOf(ONE, doc, SLICES).fields
}

differences('finds none in what an upsert has left, whatever the order of its fields', () => {
  assert.equal(fieldsOf(stored()), [])
  assert.equal(fieldsOf(reversed(stored()) as Doc), [])
})

differences('tells a number of another type from the same number, and a field more or less', () => {
  const ambr = stored().ambr as { readonly downlink: Doc; readonly uplink: Doc }
  const { value, unit } = ambr.downlink
  assert.instance(value, Int32)
  const number = Number(value)
  const others = [
    { value: new Double(number), unit },
    { value: Long.fromNumber(number), unit },
    { value: new Int32(number + 1), unit },
    { value: String(number), unit },
    { value, unit, more: new Int32(0) },
    { value },
    { value: null, unit },
    { value: [value], unit },
    { value: new Date(0), unit },
  ]
  for (const downlink of others)
    assert.equal(fieldsOf({ ...stored(), ambr: { ...ambr, downlink } }), ['AMBR'], JSON.stringify(downlink))
  // Numbers of JavaScript come as numbers of the smallest type: they are written so too.
  assert.equal(fieldsOf({ ...stored(), ambr: { ...ambr, downlink: { value: number, unit } } }), [])
})

differences('tells a list with a part more, less or in another place', () => {
  const [slice] = stored().slice as readonly Doc[]
  const [internet, ims] = (slice?.session ?? []) as readonly Doc[]
  assert.ok(internet && ims)
  const { qos } = internet as { readonly qos: Doc }
  const slow = { ...internet, ambr: { downlink: { value: new Int32(1), unit: new Int32(0) } } }
  const lists = [[], [internet], [slow, ims], [internet, { ...ims, qos: undefined }], [qos, ims]]
  for (const session of lists)
    assert.equal(fieldsOf({ ...stored(), slice: [{ ...slice, session }] }), ['slices and APNs'])
  assert.equal(fieldsOf({ ...stored(), slice: [{ ...slice, session: [internet, ims] }] }), [])
})

differences.run()
