import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  cpuMs,
  driverPlugin,
  eventually,
  type FakeHss,
  fakeHss,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { SimBody } from './support/answers.ts'

interface Report {
  readonly imported: number
  readonly skipped: number
  readonly failed: number
  readonly batch_id: string | null
  readonly results: readonly {
    readonly row: number
    readonly imsi_sha256_12: string | null
    readonly status: string
    readonly error: string | null
  }[]
}

const http = suite('sims/import-http')
let bed: Testbed
let hss: FakeHss

http.before(async () => {
  const { startTestbed } = await loadTestbed()
  hss = fakeHss()
  bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, plugin), driverPlugin('hss', hss)],
  })
})
http.after(() => bed.stop())

const KI = '465b5ce8b199b49faa5f0a2ee238a6bc'
const OPC = 'cd63cb71954a9f4e48a5994e37a02baf'
const OP = 'cdc202d5123e20f62b6d676ac72cb318'
const imsi = (number: number): string => `99999${String(number).padStart(10, '0')}`
const hashOf = (number: number): string => imsiHash(parseImsi(imsi(number))!)
const csv = (text: string, query = ''): ReturnType<Testbed['request']> =>
  bed.request('POST', `/v1/sims/import${query}`, { body: text, headers: { 'content-type': 'text/csv' } })
const report = async (response: ReturnType<Testbed['request']>): Promise<Report> => bodyOf(await response)
const statuses = ({ results }: Report): readonly string[] => results.map(({ status }) => status)
const keysInHss = (number: number): Promise<void> =>
  eventually(() => assert.is(hss.keys.get(parseImsi(imsi(number))!), KI + OPC))

http('imports CSV of its own form, computes OPc from OP, and provisions it', async () => {
  const answer = await report(
    csv(
      `imsi,ki,op,iccid,msisdn,profile,apns,expires_at,label\r\n${imsi(1)},${KI},${OP},8988211000000000003,491700,iot,internet;ims,2040-01-01T00:00:00Z,"shelf, ""A"""\r\n`,
    ),
  )
  assert.equal([answer.imported, answer.skipped, answer.failed], [1, 0, 0], JSON.stringify(answer))
  const sim = bodyOf<SimBody & { iccid_last4: string }>(await bed.request('GET', `/v1/sims/${hashOf(1)}`))
  assert.equal(
    [sim.profile, sim.apns, sim.expires_at, sim.label, sim.iccid_last4, sim.batch_id],
    ['iot', ['internet', 'ims'], '2040-01-01T00:00:00.000Z', 'shelf, "A"', '0003', answer.batch_id],
  )
  await keysInHss(1)
})

http('imports the files that card vendors and pySim write', async () => {
  const vendor = `\uFEFF"IMSI";"ICCID";"ACC";"PIN1";"PUK1";"PIN2";"PUK2";"Ki";"OPC";"ADM1";"KIC1"\n${imsi(2)};89882110000000000051;0001;1234;12345678;5678;87654321;${KI.toUpperCase()};${OPC.toUpperCase()};11223344;00\n`
  assert.equal(statuses(await report(csv(vendor))), ['imported'])
  const pysim = `name,iccid,mcc,mnc,imsi,smsp,ki,opc,adm1\nLab,8988211000000000011,999,99,${imsi(3)},,${KI},${OPC},88888888\n`
  assert.equal(statuses(await report(csv(pysim))), ['imported'])
  const spaced = `IMSI\tK\tO P c\tPIN ADM\n${imsi(4)}\t${KI}\t${OPC}\t3132333435363738\n\n`
  assert.equal(statuses(await report(csv(spaced))), ['imported'])
  for (const number of [2, 3, 4]) await keysInHss(number)
})

http('reports on each row exactly and imports the good ones', async () => {
  const rows = [
    `${imsi(10)},${KI},${OPC},,`,
    `${imsi(1)},${KI},${OPC},,`,
    `${imsi(10)},${KI},${OPC},,`,
    `12,${KI},${OPC},,`,
    `001010000000001,${KI},${OPC},,`,
    `${imsi(11)},${KI.slice(2)},${OPC},,`,
    `${imsi(12)},${KI},,,`,
    `${imsi(13)},${KI},${OPC},8988211000000000006,`,
    `${imsi(14)},${KI},${OPC},,elsewhere`,
    `${imsi(15)},${KI},${OPC},,`,
  ]
  const answer = await report(csv(`imsi,ki,opc,iccid,apns\n${rows.join('\n')}\n`))
  assert.equal(
    answer.results.map(({ row, status, error }) => [row, status, error]),
    [
      [1, 'imported', null],
      [2, 'exists', null],
      [3, 'error', 'has the same IMSI as line 2'],
      [4, 'error', 'imsi must be 6 to 15 digits'],
      [5, 'error', 'imsi is not one of the network 999-99'],
      [6, 'error', 'ki must be 32 hexadecimal digits'],
      [7, 'error', 'opc or op is missing'],
      [8, 'error', 'iccid must be 19 or 20 digits that begin with 89 and end in their check digit'],
      [9, 'error', `apns: "elsewhere" is none of the policy's APNs (internet, ims)`],
      [10, 'imported', null],
    ],
  )
  assert.equal([answer.imported, answer.skipped, answer.failed], [2, 1, 7])
  assert.is(answer.results[0]?.imsi_sha256_12, hashOf(10))
  assert.not.match(JSON.stringify(answer), new RegExp(`${KI}|${OPC}|99999\\d{10}`))
})

http('changes nothing in a dry run, and says the same as the import after it', async () => {
  const text = `imsi,ki,opc\n${imsi(20)},${KI},${OPC}\n${imsi(1)},${KI},${OPC}\nx,,\n`
  const dry = await report(csv(text, '?dry_run=true'))
  assert.is((await bed.request('GET', `/v1/sims/${hashOf(20)}`)).status, 404)
  const real = await report(csv(text))
  assert.equal(dry.results, real.results)
  assert.equal([dry.batch_id === null, real.batch_id === null], [true, false])
})

http('imports all rows or none when asked to be atomic', async () => {
  const rows = [`${imsi(30)},${KI},${OPC}`, `${imsi(1)},${KI},${OPC}`, `${imsi(31)},${KI},zz`]
  const refused = await report(csv(`imsi,ki,opc\n${rows.join('\n')}`, '?atomic=true'))
  assert.equal(statuses(refused), ['not_imported', 'exists', 'error'])
  assert.is(refused.imported, 0)
  assert.is((await bed.request('GET', `/v1/sims/${hashOf(30)}`)).status, 404)
  const taken = await report(csv(`imsi,ki,opc\n${rows.slice(0, 2).join('\n')}`, '?atomic=true'))
  assert.equal(statuses(taken), ['imported', 'exists'])
  assert.is((await bed.request('GET', `/v1/sims/${hashOf(30)}`)).status, 200)
})

http('imports JSON rows, each for itself', async () => {
  const sims = [
    { imsi: imsi(40), ki: KI, opc: OPC, apns: ['ims'], label: null },
    { imsi: imsi(41), ki: 5, opc: OPC },
    'nonsense',
    { imsi: imsi(42), ki: KI, opc: OPC, surprise: 1 },
    { imsi: imsi(43), ki: KI, opc: OPC, [KI]: 'x' },
  ]
  const answer = await report(bed.request('POST', '/v1/sims/import', { body: { sims } }))
  assert.equal(statuses(answer), ['imported', 'error', 'error', 'error', 'error'])
  assert.equal(
    answer.results.slice(1).map(({ error }) => error),
    [
      'ki must be a text',
      'the row is not an object',
      'unknown property "surprise"',
      'unknown property (not shown)',
    ],
  )
  assert.equal(bodyOf<SimBody>(await bed.request('GET', `/v1/sims/${hashOf(40)}`)).apns, ['ims'])
})

http('imports nothing of a file in which a quote is not closed, and says where it opens', async () => {
  const whole = Array.from({ length: 300 }, (_, i) => `${imsi(200 + i)},${KI},${OPC},x`)
  const text = `imsi,ki,opc,comment\n${whole.join('\n')}\n${imsi(600)},${KI},${OPC},"12 inch\n${imsi(601)},${KI},${OPC},x\n`
  for (const query of ['', '?atomic=true', '?dry_run=true']) {
    const response = await csv(text, query)
    assert.is(codeOf(response, 400), 'validation_failed')
    assert.match(JSON.stringify(response.body), /line 302: the quote that opens in cell 4 is not closed/)
    assert.not.match(JSON.stringify(response.body), new RegExp(`${KI}|99999\\d{10}`))
  }
  for (const number of [200, 600, 601])
    assert.is((await bed.request('GET', `/v1/sims/${hashOf(number)}`)).status, 404)
})

http('reports a row whose cells do not fit the header, and takes cells that it lacks as empty', async () => {
  const rows = [
    `${imsi(700)},${KI},${OPC},shelf 1, left`,
    `${imsi(701)},${KI},${OPC},12" disk`,
    `${imsi(702)},${KI},${OPC},"shelf" 1`,
    `${imsi(703)},${KI},${OPC}`,
    `${imsi(704)},${KI}`,
    `${imsi(705)}`,
    `${imsi(706)},${KI},${OPC},shelf 2,,`,
    `x,${KI},${OPC},shelf 1, left`,
  ]
  const text = `imsi,ki,opc,label\n${rows.join('\n')}`
  const dry = await report(csv(text, '?dry_run=true'))
  const answer = await report(csv(text))
  assert.equal(dry.results, answer.results)
  assert.equal(
    answer.results.map(({ status, error }) => error ?? status),
    [
      'line 2: has 5 cells and the header row 4; a cell with a "," in it must be in quotes',
      'line 3: cell 4 has a quote within a cell that is not quoted; write it as "…" with each quote in it doubled',
      'line 4: cell 4 has text behind a closing quote; write it as "…" with each quote in it doubled',
      'imported',
      'opc or op is missing',
      'ki is missing',
      'imported',
      'line 9: has 5 cells and the header row 4; a cell with a "," in it must be in quotes',
    ],
  )
  assert.is(answer.results[0]?.imsi_sha256_12, hashOf(700))
  assert.is((await bed.request('GET', `/v1/sims/${hashOf(700)}`)).status, 404)
})

http('gives no two SIMs that are not revoked the same ICCID', async () => {
  const [card, other] = ['8988211000000000029', '8988211000000000037']
  const first = `imsi,ki,opc,iccid\n${imsi(800)},${KI},${OPC},${card}\n`
  const twice = `${first}${imsi(801)},${KI},${OPC},${card}f\n${imsi(802)},${KI},${OPC},${other}\n`
  const dry = await report(csv(twice, '?dry_run=true'))
  const answer = await report(csv(twice))
  assert.equal(dry.results, answer.results)
  assert.equal(
    answer.results.map(({ status, error }) => error ?? status),
    ['imported', 'has the same ICCID as line 2', 'imported'],
  )
  const held = `is the ICCID of the SIM ${hashOf(800)}; revoke that one first`
  const again = await report(csv(twice, '?atomic=true'))
  assert.equal(
    again.results.map(({ status, error }) => error ?? status),
    ['exists', `iccid ${held}`, 'exists'],
  )
  const row = { imsi: imsi(803), ki: KI, opc: OPC, iccid: card }
  const asJson = (): Promise<Report> =>
    report(bed.request('POST', '/v1/sims/import', { body: { sims: [row] } }))
  assert.is((await asJson()).results[0]?.error, `iccid ${held}`)
  assert.is((await bed.request('POST', `/v1/sims/${hashOf(800)}/revoke`)).status, 200)
  assert.equal(statuses(await asJson()), ['imported'])
})

http('takes ICCIDs that differ only at their beginning for those of several cards', async () => {
  const rows = ['8944000000000000027', '8901000000000000027'].map(
    (iccid, i) => `${imsi(805 + i)},${KI},${OPC},${iccid}`,
  )
  const answer = await report(csv(`imsi,ki,opc,iccid\n${rows.join('\n')}\n`))
  assert.equal(
    answer.results.map(({ status, error }) => error ?? status),
    ['imported', 'imported'],
  )
})

http('lets one of two imports at the same time have an ICCID', async () => {
  const card = '8988211000000000045'
  const text = (number: number): string => `imsi,ki,opc,iccid\n${imsi(number)},${KI},${OPC},${card}\n`
  const answers = await Promise.all([810, 811, 812].map((number) => report(csv(text(number)))))
  assert.equal(answers.flatMap(statuses).sort(), ['error', 'error', 'imported'])
})

http('refuses what has no rows to read', async () => {
  for (const text of ['imsi,ki\n1,2\n', 'a,b\n', 'imsi,imsi,ki,opc\n', '\n'])
    assert.is(codeOf(await csv(text), 400), 'validation_failed', text)
  const xml = await bed.request('POST', '/v1/sims/import', {
    body: '<a/>',
    headers: { 'content-type': 'text/xml' },
  })
  assert.is(codeOf(xml, 415), 'unsupported_media_type')
})

http('stays responsive and exact over thousands of rows', async () => {
  const rows = Array.from({ length: 5_000 }, (_, i) => `${imsi(100_000 + i)},${KI},${OPC}`)
  const importing = csv(`imsi,ki,opc\n${rows.join('\n')}`)
  let worstMs = 0
  let isOver = false
  void importing.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const startedMs = cpuMs()
    await bed.request('GET', '/v1/sims?limit=1')
    worstMs = Math.max(worstMs, cpuMs() - startedMs)
  }
  assert.is((await report(importing)).imported, 5_000)
  assert.ok(worstMs < 1_000, `a read waited for ${worstMs} ms of work`)
  await eventually(() => assert.ok(hss.held.size > 5_000))
  assert.ok(hss.calls.every((call) => Number(call.split(' ')[1]) <= 500))
})

http('exports every SIM as CSV without secrets', async () => {
  await report(csv(`imsi,ki,opc,label\n${imsi(50)},${KI},${OPC},=1+1\n`))
  const response = await bed.request('GET', '/v1/sims/export')
  assert.is(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
  const lines = String(response.body).trimEnd().split('\r\n')
  assert.match(lines[0] ?? '', /^imsi_sha256_12,state,/)
  assert.ok(lines.length > 5_010)
  assert.match(lines.find((line) => line.startsWith(hashOf(50))) ?? '', /,'=1\+1,/)
  assert.not.match(String(response.body), new RegExp(`${KI}|99999\\d{10}`))
  const narrow = await bed.request('GET', `/v1/sims/export?q=${hashOf(50)}`)
  assert.is(String(narrow.body).trimEnd().split('\r\n').length, 2)
})

http('suspends, labels and revokes in bulk with a report on each', async () => {
  const bulk = (body: object, token?: string): ReturnType<Testbed['request']> =>
    bed.request('POST', '/v1/sims/bulk', { body, ...(token === undefined ? {} : { token }) })
  const answer = bodyOf<{
    changed: number
    unchanged: number
    failed: number
    results: { status: string }[]
  }>(await bulk({ action: 'suspend', ids: [hashOf(2), hashOf(3), 'ffffffffffff'] }))
  assert.equal([answer.changed, answer.unchanged, answer.failed], [2, 0, 1])
  await eventually(() => assert.is(hss.held.get(parseImsi(imsi(2))!)?.isBlocked, true))
  const suspended = { filter: { state: 'suspended' } }
  assert.is(bodyOf<{ unchanged: number }>(await bulk({ action: 'suspend', ...suspended })).unchanged, 2)
  bodyOf(await bulk({ action: 'label', label: 'lost', ...suspended }))
  assert.is(bodyOf<SimBody>(await bed.request('GET', `/v1/sims/${hashOf(3)}`)).label, 'lost')
  const operator = bed.credential({ kind: 'token', id: 'op', roles: ['operator'] })
  assert.is(codeOf(await bulk({ action: 'revoke', ...suspended }, operator), 403), 'forbidden')
  const admin = bed.credential({ kind: 'token', id: 'adm', roles: ['sim:admin'] })
  assert.is(codeOf(await bulk({ action: 'suspend', ...suspended }, admin), 403), 'forbidden')
  const many = await bulk({ action: 'revoke', filter: { state: 'issued', label: '=1+1' } }, admin)
  assert.is(bodyOf<{ changed: number }>(many).changed, 1)
  assert.is(codeOf(await bulk({ action: 'revoke', filter: { state: 'issued' } }, admin), 429), 'rate_limited')
  for (const body of [
    { action: 'revoke' },
    { action: 'label', ids: [hashOf(2)] },
    { action: 'fly', ids: [hashOf(2)] },
  ])
    assert.is(codeOf(await bulk(body), 400), 'validation_failed')
})

http('gives the label of the request to rows that have none', async () => {
  const text = `imsi,ki,opc,label\n${imsi(901)},${KI},${OPC},Anna\n${imsi(902)},${KI},${OPC},\n`
  assert.is((await report(csv(text, '?label=harbour%20team'))).imported, 2)
  const labels = await Promise.all(
    [901, 902].map(async (n) => bodyOf<SimBody>(await bed.request('GET', `/v1/sims/${hashOf(n)}`)).label),
  )
  assert.equal(labels, ['Anna', 'harbour team'])
})

http('says of a damaged cell by what it was damaged, and shows no key and no whole number', async () => {
  const rows = [
    `9.99E+14,${KI},${OPC},,,`,
    `${imsi(8001)},${KI},${OPC},8988211000000120000,,`,
    `${imsi(8002)},${KI},${OPC},,${'00112233445566778899aabbccddeeff'},`,
    `${imsi(8003)},4.65E+31,${OPC},,,`,
    `${imsi(8004)},${KI},${OPC},,,4142434431323334`,
    `${imsi(8005)},${KI},${OPC},,,AB12`,
    `${imsi(8006)},${'12345678'.repeat(4).slice(1)},${OPC},,,`,
  ]
  const { results } = await report(
    csv(`imsi,ki,opc,iccid,op,pin_adm_hex\n${rows.join('\n')}`, '?dry_run=true'),
  )
  const wanted = [
    /^imsi must be .*: a spreadsheet has rounded this number to 9\.99E\+14\. Import the original/,
    /ends in zeros behind 15 digits/,
    /opc does not follow from ki and op/,
    /rounded this number\. Import/,
    undefined,
    /adm1_hex/,
    /^ki must be 32 hexadecimal digits: it has 31\. A spreadsheet removes leading zeros/,
  ]
  for (const [at, pattern] of wanted.entries()) {
    if (pattern === undefined) assert.is(results[at]?.error, null)
    else assert.match(results[at]?.error ?? '', pattern)
    assert.not.match(results[at]?.error ?? '', /8988|4.65/)
  }
})

http('shows of a dry run the first rows as they are understood, in the order of the file', async () => {
  const lines = Array.from({ length: 8 }, (_, n) => `${imsi(8100 + n)},${KI},${OPC},place ${n},x`)
  const body = `imsi,ki,opc,name,kic1\n${lines.join('\n')}`
  const answer = bodyOf<
    Report & { readonly columns: object[]; readonly first_rows: { label: string; line: number }[] }
  >(await csv(body, '?dry_run=true'))
  assert.equal(
    answer.first_rows.map(({ label, line }) => [label, line]),
    [0, 1, 2, 3, 4].map((n) => [`place ${n}`, n + 2]),
  )
  assert.equal(answer.columns.slice(3), [
    { name: 'name', read_as: 'label' },
    { name: 'kic1', read_as: null },
  ])
  assert.not.ok(JSON.stringify(answer).includes(KI))
})

http.run()
