import { type CsvRecord, csvLines, delimiterOf, readableCsv, readRecord } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { isJson } from '../src/import/import-route.ts'
import { cellsFromJson } from '../src/import/json-cells.ts'
import { csvRows, jsonRows, jsonRowsOf } from '../src/import/read-rows.ts'

const csv = suite('sims/csv')
const LINE_END = /\r\n|\n|\r/

const read = (text: string): readonly CsvRecord[] => {
  const bytes = Buffer.from(text)
  let delimiter: string | undefined
  const records: CsvRecord[] = []
  for (const place of csvLines(bytes)) {
    const line = bytes.toString('utf8', place?.from, place?.to)
    delimiter ??= delimiterOf(line)
    const record = readRecord(place?.line ?? 0, line, delimiter)
    if (record.cells.length > 1 || record.cells[0]?.trim() !== '' || record.problem !== undefined)
      records.push(record)
  }
  return records
}
const refusal = (text: string): string | undefined => {
  try {
    read(text)
    return undefined
  } catch (error) {
    assert.is((error as { code?: string }).code, 'validation_failed')
    return (error as Error).message
  }
}

csv('reads back what RFC 4180 says how to write', () => {
  const cell = fc.string({ maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ' '))
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
  const file = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    mark: fc.constantFrom('', '\uFEFF'),
    rows: fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 8 }),
    isEnded: fc.boolean(),
  })
  fc.assert(
    fc.property(file, ({ delimiter, end, mark, rows, isEnded }) => {
      const header = `a${delimiter}b${delimiter}c`
      const lines = [header, ...rows.map((row) => row.map(quoted).join(delimiter))]
      const records = read(mark + lines.join(end) + (isEnded ? end : ''))
      assert.equal(
        records.slice(1).map(({ cells }) => cells),
        rows,
      )
      assert.ok(records.every(({ problem }) => problem === undefined))
    }),
  )
})

csv('has a record for every line of any text that is not empty, or refuses the whole text', () => {
  const part = fc.constantFrom(
    'a',
    '"',
    '""',
    ',',
    ';',
    '\t',
    ' ',
    '\n',
    '\r\n',
    '\r',
    '\uFEFF',
    '12"',
    '","',
  )
  const text = fc.array(part, { maxLength: 60 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (any) => {
      const lines = any.replace(/^\uFEFF/, '').split(LINE_END)
      const message = refusal(any)
      if (message !== undefined) {
        const line = Number(/^line (\d+):/.exec(message)?.[1])
        assert.match(lines[line - 1] ?? '', /"/)
        return
      }
      const told = new Set(read(any).map(({ line }) => line))
      lines.forEach((line, i) => {
        if (line.replaceAll(/[\s"]/g, '') !== '') assert.ok(told.has(i + 1), JSON.stringify(line))
      })
    }),
    { numRuns: 500 },
  )
})

csv('loses no character of a line that it has no doubts about', () => {
  const part = fc.constantFrom('a', '"', '""', ',', ' ', 'b"', '"c')
  const text = fc.array(part, { minLength: 1, maxLength: 20 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (line) => {
      if (refusal(`x,y\n${line}`) !== undefined) return
      const record = read(`x,y\n${line}`)[1]
      if (record === undefined || record.problem !== undefined) return
      assert.is(record.cells.join('').replaceAll(/[" ,]/g, ''), line.replaceAll(/[" ,]/g, ''))
    }),
    { numRuns: 500 },
  )
})

csv('names the line and cell of a quote that is not closed there', () => {
  const unclosed = refusal('a,b\n1,2\n3,"12 inch\n4,5\n')
  assert.match(
    unclosed ?? '',
    /^line 3: the quote that opens in cell 2 is not closed in that line; close it, or/,
  )
  assert.match(refusal('a,b\n1,"12 inch\n3,13 inch"\n') ?? '', /^line 2: /)
  assert.match(refusal('a,"b\n1,2') ?? '', /^line 1: /)
})

csv('has doubts about quotes that are where none may be', () => {
  const problems = read('a,b\n1,12" disk\n1,"x" y\n1, "x" \n1,"""x"""\n').map(({ problem }) => problem)
  assert.match(problems[1] ?? '', /^cell 2 has a quote within a cell that is not quoted; write it as /)
  assert.match(problems[2] ?? '', /^cell 2 has text behind a closing quote; write it as /)
  assert.equal([problems[0], problems[3], problems[4]], [undefined, undefined, undefined])
})

const pause = async (): Promise<void> => undefined
const refusedBody = async (bytes: Buffer): Promise<string> => {
  const refused = await readableCsv(bytes, pause).catch((error: unknown) => error)
  assert.is((refused as { code?: string }).code, 'validation_failed')
  return (refused as Error).message
}

csv('takes UTF-16 of a spreadsheet, and says of other files what they are and how to save them', async () => {
  const lines = ['imsi,ki,opc,label', `999990000000001,${'0'.repeat(32)},${'0'.repeat(32)},Zürich`, '']
  for (const bytes of [
    Buffer.from(lines.join('\n')),
    Buffer.from(`\uFEFF${lines.join('\n')}`, 'utf16le'),
    Buffer.from(`\uFEFF${lines.join('\n')}`, 'utf16le').swap16(),
  ]) {
    const rows = await csvRows(await readableCsv(bytes, pause), pause)
    const [place] = [...rows.places()]
    assert.is(place && rows.cells(place)?.get('label'), 'Zürich')
  }
  const latin1 = await refusedBody(Buffer.from(lines.join('\n'), 'latin1'))
  assert.match(latin1, /^line 2: the CSV is not UTF-8; .*"CSV UTF-8/)
  assert.match(await refusedBody(Buffer.from('30820abf0081ff', 'hex')), /^the file is binary.*"CSV UTF-8/)
  assert.match(await refusedBody(Buffer.from('504b0304', 'hex')), /workbook.*"CSV UTF-8/)
})

const KI = '465b5ce8b199b49faa5f0a2ee238a6bc'
const OPC = 'cd63cb71954a9f4e48a5994e37a02baf'
const IMSI = '999990000001001'
const DOCUMENT = {
  imsi: IMSI,
  msisdn: ['4915'],
  security: { k: KI, opc: OPC, amf: '8000', sqn: { $numberLong: '5' } },
}
const SLICE = [{ sst: 1, session: [{ name: 'internet', qos: { index: 9 } }, { name: 'ims' }] }]
const FREE5GC = {
  plmnID: '99999',
  ueId: `imsi-${IMSI}`,
  AuthenticationSubscription: {
    permanentKey: { permanentKeyValue: KI },
    milenage: { op: { opValue: '' } },
    opc: { opcValue: OPC },
  },
  AccessAndMobilitySubscriptionData: { gpsis: ['msisdn-4915'] },
  SessionManagementSubscriptionData: [{ dnnConfigurations: { internet: {}, ims: {} } }],
}

/** Files of other tools, each with what its only row says beside IMSI, Ki and OPc. */
const FILES: readonly (readonly [what: string, text: string, more: Readonly<Record<string, string>>])[] = [
  [
    'Magma NMS',
    `Name,IMSI,Auth Key,Auth OPC,Service,Data Plan,Active APNs\nSchool,IMSI${IMSI},${KI},${OPC},ACTIVE,default,internet`,
    { label: 'School', apns: 'internet' },
  ],
  [
    'srsEPC',
    `#\n# Kept in the following format: "Name,Auth,IMSI,Key,OP_Type,OP/OPc,AMF,SQN,QCI,IP_alloc"\n#\nue1,mil,${IMSI},${KI},opc,${OPC},8000,000000001234,9,dynamic`,
    { label: 'ue1', auth: 'mil', op_type: 'opc', op_or_opc: OPC },
  ],
  [
    'a spreadsheet',
    `\uFEFFsep=;\r\nimsi;ki;opc;label\r\n${IMSI};${KI};${OPC};"Haus 1\nKeller"\r\n;;;\r\n`,
    { label: 'Haus 1 Keller' },
  ],
  ['cells as text', `imsi,ki,opc,msisdn\n="${IMSI}",'${KI},${OPC},+49 (15)`, { msisdn: '+4915' }],
  ['keys in groups', `imsi,ki,opc\n999 99 0000001001,465B5CE8 B199B49F AA5F0A2E E238A6BC,0x${OPC}`, {}],
  [
    'pySim',
    `imsi,ki,opc,pin_adm_hex\n${IMSI},${KI},${OPC},4142434431323334`,
    { adm1_hex: '4142434431323334' },
  ],
  [
    'own JSON',
    JSON.stringify({ sims: [{ imsi: IMSI, ki: KI, opc: OPC, apns: ['a', 'b'] }] }),
    { apns: 'a;b' },
  ],
  ['a list', JSON.stringify([{ imsi: IMSI, ki: KI, opc: OPC }], undefined, 2), {}],
  [
    'Ella Core',
    `{"page":1,"total_count":1,"items":[{"imsi":"${IMSI}","key":"${KI}","opc":"${OPC}","sequenceNumber":"000000000022","profile_name":"default"}],"next":null}`,
    { profile: 'default' },
  ],
  [
    "PyHSS's AuC",
    `[{"auc_id":1,"imsi":"${IMSI}","ki":"${KI}","opc":"${OPC}","amf":"8000","sqn":100,"iccid":null,"batch_name":"b","sim_vendor":"v","esim":false,"lpa":null,"pin1":"1234","puk1":null,"kid":null,"psk":null,"des":null,"adm1":null,"misc1":null,"misc2":null,"misc3":null,"misc4":null,"last_modified":"2026-01-01T00:00:00Z"}]`,
    { pin1: '1234' },
  ],
  ['one object', JSON.stringify({ imsi: IMSI, key: KI, opc: OPC }), {}],
  [
    'mongoexport of Open5GS',
    `${JSON.stringify({ ...DOCUMENT, slice: SLICE, __v: 0 })}\n`,
    { msisdn: '4915', apns: 'internet;ims' },
  ],
  ['free5GC', JSON.stringify(FREE5GC), { msisdn: '-4915'.slice(1), apns: 'internet;ims' }],
]

for (const [what, text, more] of FILES)
  csv(`reads the file of ${what}`, async () => {
    const bytes = await readableCsv(Buffer.from(text), pause)
    const rows = isJson(bytes) ? jsonRowsOf(bytes) : await csvRows(bytes, pause)
    const found = [...rows.places()].flatMap((place) => (place && rows.cells(place)) ?? [])
    const { imsi, ki, opc, op_or_opc, ...rest } = Object.fromEntries(found[0] ?? [])
    assert.equal([found.length, imsi, ki?.toLowerCase(), opc ?? op_or_opc], [1, IMSI, KI, OPC])
    const { op_or_opc: _opc, ...wanted } = more
    assert.equal(rest, wanted)
  })

csv('finds the same rows of JSON in any of the forms in which they come', () => {
  const row = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 })
  const space = fc.constantFrom('', ' ', '\n', '\r\n\t')
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 4 }),
      space,
      fc.constantFrom(undefined, 2),
      (rows, gap, indent) => {
        const texts = rows.map((one) => JSON.stringify(one, undefined, indent))
        const forms = [
          `{"sims"${gap}:${gap}[${texts.join(`${gap},`)}]}`,
          `${gap}[${texts.join(`,${gap}`)}${gap}]`,
          `{"page":{"a":[1]},"items":[${texts.join()}],"next":"]"}${gap}`,
          ...(rows.some((one) => Object.keys(one).some((key) => LISTED.includes(key)))
            ? []
            : [texts.join(`\n${gap}`)]),
        ]
        for (const form of forms) {
          const bytes = Buffer.from(form)
          const found = [...jsonRows(bytes)].flatMap((place) =>
            place === undefined ? [] : [JSON.parse(bytes.toString('utf8', place.from, place.to))],
          )
          assert.equal(
            found,
            rows.map((one) => JSON.parse(JSON.stringify(one))),
            form,
          )
        }
      },
    ),
  )
})
const LISTED: readonly string[] = ['sims', 'items', 'subscribers', 'data', 'results']

csv('leaves a quote that is not closed to its own line, and rows behind it to themselves', async () => {
  const lines = ['imsi,ki,opc,label', `1,2,3,"open`, ...Array.from({ length: 20 }, (_, i) => `${i},2,3,x`)]
  const rows = await csvRows(Buffer.from(lines.join('\n')), pause)
  const places = [...rows.places()]
  assert.is(places.length, 21)
  assert.throws(
    () => places[0] && rows.cells(places[0]),
    /^line 2: the quote that opens in cell 4 is not closed/,
  )
})

csv('says which columns a header lacks, and the names that are read', async () => {
  const refused = await csvRows(Buffer.from('name,id,secret\n'), pause).catch((error: Error) => error)
  assert.match((refused as Error).message, /lacks imsi and ki and opc \(or op\);.*authkey/)
  const rows = await csvRows(Buffer.from('IMSI,KI,OPC,KIC1\n'), pause)
  assert.equal(rows.columns.at(-1), { name: 'KIC1', read_as: null })
})

csv('shows no key that stands where a name does', async () => {
  const rows = await csvRows(Buffer.from(`imsi,ki,opc,${KI}, note ${IMSI}\n`), pause)
  assert.equal(rows.columns.slice(3), [
    { name: '(not shown)', read_as: null },
    { name: 'note (not shown)', read_as: null },
  ])
})

csv('reads JSON of other cores whatever stands where a rate does', () => {
  const deep = JSON.parse(`${'['.repeat(8_000)}${']'.repeat(8_000)}`)
  for (const rate of [{ toString: 1, valueOf: 1 }, deep, true, null]) {
    const free5gc = {
      AuthenticationSubscription: {},
      AccessAndMobilitySubscriptionData: { subscribedUeAmbr: { downlink: rate } },
    }
    const open5gs = { security: {}, ambr: { downlink: { value: { $numberInt: rate } } } }
    for (const row of [free5gc, open5gs, { security: {}, ambr: { downlink: { value: rate } } }])
      assert.not(cellsFromJson(row).has('downlink_bps'))
  }
})

csv('refuses UTF-16 with a letter cut in two', async () => {
  const text = Buffer.from('\uFEFFimsi,ki,opc,label\n', 'utf16le')
  assert.match(
    await refusedBody(Buffer.concat([text, Buffer.from([0x00, 0xd8, 0x0a, 0x00])])),
    /cut or damaged/,
  )
  assert.match(await refusedBody(text.subarray(0, -1)), /cut or damaged/)
})

csv('takes a tab for the delimiter that Excel names, and no blank', async () => {
  const rows = await csvRows(Buffer.from('sep=\t\nimsi\tki\topc\n'), pause)
  assert.is(rows.columns.length, 3)
  assert.match(
    (await csvRows(Buffer.from('"sep= "\nimsi ki opc\n'), pause).catch(String)) as string,
    /lacks imsi/,
  )
})

csv.run()
