import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { contentOf } from '../../src/count/count-file.ts'
import { DamagedFile, elementAt, recordsIn } from '../../src/format/cdr-file.ts'
import { parseRecord } from '../../src/format/charging-record.ts'
import { element, fileBytes, integer, recordBytes } from '../support/encode.ts'
import { hashOf } from '../support/world.ts'

const format = suite('collector-cdr/format')

const FOLDER = join(import.meta.dirname, '..', 'fixtures')
const FILES = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file)))
/** Two updates of one record, as a CHF of release 4.2.3 wrote it. */
const RECORDED = Buffer.from(
  'AAABbQAAADQAAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE1ACC/gUiCAS+AAgDIgSQzYTUzMTAxOS1mNTIwLTRjMDgtOWYxZS02MTI5ZTIxYjA5ZWWiFIABAYEPOTk5OTkwMDAwMDAwMDAxoxWAAQGBA1NNRqILggkxMjcuMC4wLjKlgYUwP4ABAaEUMBKEAgu4hQID6IYCB9CHAQCJAQCCJDhkMGYyZjVhLTExMTEtNDIyMi04MzMzLTQ0NDQ1NTU1NjY2NjBCgAEBoRcwFYQEAcnDhYUEAcnDgIYBBYcBAIkBAIIkOGQwZjJmNWEtMTExMS00MjIyLTgzMzMtNDQ0NDU1NTU2NjY2hgkmESARMFcrAACHAQCJAQCLAQGtHYABAYYBAacLgAEBgQYwMTAyMDONCGludGVybmV0kBhpbXNpLTk5OTk5MDAwMDAwMDAwMVNNRjCbAQE=',
  'base64',
)
const NAME = 'imsi-999990000000001.cdr'

format('reads a record that a real CHF wrote', () => {
  const [record, ...others] = [...recordsIn(RECORDED)].map((body) => parseRecord(body, NAME))
  assert.ok(record !== undefined)
  assert.is(others.length, 0)
  const { imsi, apn, number, openedMs, used } = record
  assert.equal(
    { imsi, apn, number, opened: new Date(openedMs ?? 0).toISOString() },
    { imsi: hashOf('999990000000001'), apn: 'internet', number: 1, opened: '2026-11-20T11:30:57.000Z' },
  )
  assert.equal(
    used.map(({ ratingGroup, upBytes, downBytes }) => [ratingGroup, upBytes, downBytes]),
    [
      [1, 1_000, 2_000],
      [1, 30_000_000, 5],
    ],
  )
  assert.is(used[1]?.end, record.reports.length)
  assert.not.match(JSON.stringify({ ...record, reports: undefined }), /99999/)
})

format(
  'reads what a CHF of the releases 3.4 and 4.0 wrote, with an octet more in the header of each record',
  () => {
    const name = 'imsi-999700000000001.cdr'
    const file = readFileSync(join(FOLDER, 'two-sessions-of-3.4.cdr'))
    const records = [...recordsIn(file)].map((body) => parseRecord(body, name))
    assert.equal(
      records.map((record) => [
        record?.number,
        record?.used.map(({ upBytes, downBytes }) => [upBytes, downBytes]),
      ]),
      [
        [1, [[1_000, 7]]],
        [4, []],
      ],
    )
  },
)

format('reads back what is written, whatever the volumes', () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.nat(2 ** 32 - 1), fc.nat(2 ** 32 - 1)), { maxLength: 40 }),
      fc.nat(2 ** 31 - 1),
      (volumes, number) => {
        const reports = volumes.map(([ratingGroup, upBytes, downBytes]) => ({
          ratingGroup,
          upBytes,
          downBytes,
        }))
        const written = {
          imsi: '999990000000001',
          writer: 'chf',
          session: 's',
          number,
          openedMs: 1_700_000_000_000,
          dnn: undefined,
          reports,
        }
        const record = parseRecord(recordBytes(written), NAME)
        assert.is(record?.number, number)
        assert.equal(
          record?.used.map(({ end: _, ...report }) => report),
          reports,
        )
      },
    ),
  ),
)

format('skips what a newer release may add to header, record and report', async () => {
  const body = recordBytes({
    imsi: '999990000000001',
    writer: 'chf',
    session: 's',
    number: 1,
    openedMs: 0,
    dnn: 'internet',
    reports: [],
  })
  const report = element(
    0x30,
    integer(0x80, 1),
    element(0xa1, element(0x30, integer(0x85, 5), integer(0x9e, 7))),
  )
  const more = element(
    0xbf8148,
    body.subarray(elementAt(body, 0, body.length).from),
    element(0xa5, report),
    element(0xbf8149, integer(0x80, 1)),
  )
  const plain = fileBytes([more])
  // Three octets of private extension.
  const extended = Buffer.concat([plain.subarray(0, 52), Buffer.from([1, 2, 3]), plain.subarray(52)])
  extended.writeUInt32BE(extended.length, 0)
  extended.writeUInt32BE(55, 4)
  for (const bytes of [plain, extended])
    assert.equal(
      (await contentOf(bytes, NAME))?.records.map(({ used }) => used.map(({ upBytes }) => upBytes)),
      [[5]],
    )
})

format('takes no file whose lengths or numbers do not fit, and none that is cut anywhere', async () => {
  for (let length = 0; length < RECORDED.length; length += 1)
    assert.is(await contentOf(RECORDED.subarray(0, length), NAME), undefined)
  const broken = (at: number, value: number): Buffer => {
    const bytes = Buffer.from(RECORDED)
    bytes[at] = value
    return bytes
  }
  for (const bytes of [
    broken(7, 51),
    broken(21, 0),
    broken(21, 2),
    broken(53, 0),
    broken(56, 0xbe),
    broken(59, 0x80),
  ])
    assert.is(await contentOf(bytes, NAME), undefined)
})

format('throws nothing of its own making but that a file is damaged', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .tuple(fc.constantFrom(...FILES), fc.array(fc.tuple(fc.nat(800), fc.nat(255)), { maxLength: 6 }))
      .map(([file, changes]) => {
        const copy = Buffer.from(file)
        for (const [at, value] of changes) copy[at % copy.length] = value
        return copy
      }),
  )
  fc.assert(
    fc.property(bytes, (given) => {
      try {
        for (const body of recordsIn(Buffer.from(given))) parseRecord(body, NAME)
      } catch (error) {
        assert.ok(error instanceof DamagedFile, String(error))
      }
    }),
    { numRuns: 2_000 },
  )
})

format.run()
