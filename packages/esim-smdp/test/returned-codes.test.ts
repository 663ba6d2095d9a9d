import { createPause } from '@steeple/contracts'
import { assert, rounds, suite, testSeed } from '@steeple/testkit'
import fc from 'fast-check'
import { activationCode } from '../src/codes/activation.ts'
import { activationParts, type ReturnedRow, returnedRows } from '../src/providers/returned-codes.ts'

const codes = suite('esim-smdp/returned-codes')

async function read(file: string | Buffer): Promise<readonly ReturnedRow[]> {
  const rows: ReturnedRow[] = []
  for await (const row of returnedRows(Buffer.from(file), createPause())) rows.push(row)
  return rows
}
async function refusal(file: string): Promise<string> {
  return await read(file).then(
    () => 'taken',
    (error: unknown) => (error as Error).message,
  )
}
const ICCID = '8988211000000123456'
const problemOf = async (header: string, line: string): Promise<string> => {
  const [row] = await read(`${header}\n${line}\n`)
  return row === undefined ? 'no row' : 'problem' in row ? row.problem : 'none'
}

codes('reads files as providers write them', async () => {
  const files: readonly [name: string, text: string | Buffer][] = [
    ['whole code', `iccid,activation_code\n${ICCID},LPA:1$rsp.example.com$AB-12\n`],
    ['code without LPA', `ICCID;AC\r\n${ICCID};1$rsp.example.com$AB-12\r\n`],
    ['two columns, filler', `SM-DP+ Address\tMatching ID\tICCID\nrsp.example.com\tAB-12\t${ICCID}F\n`],
    [
      'spreadsheet',
      `\uFEFFsep=;\n"Label";"ICCID";"LPA String"\n"a;b";"=""${ICCID}""";"LPA:1$rsp.example.com$AB-12"`,
    ],
    ['UTF-16', Buffer.from(`\uFEFFICCID\tQR Code\r\n${ICCID}\tlpa:1$rsp.example.com$AB-12\r\n`, 'utf16le')],
    [
      'URL of the server',
      `integratedCircuitCardIdentifier,smdpPlusServerAddress,matchingIdentifier\n${ICCID},https://rsp.example.com/,AB-12`,
    ],
  ]
  for (const [name, file] of files) {
    const [row, ...more] = await read(file)
    const code = row !== undefined && 'code' in row ? row.code : undefined
    assert.equal(
      [name, code?.iccid, code?.address, code?.matchingId],
      [name, ICCID, 'rsp.example.com', 'AB-12'],
    )
    assert.is(more.length, 0, name)
  }
})

codes('reads what stands behind the matching id', async () => {
  const [row] = await read(`iccid,ac,confirmation code\n${ICCID},LPA:1$h.example$M$1.3.6.1$1,4711`)
  assert.equal(row, {
    line: 2,
    code: {
      iccid: ICCID,
      address: 'h.example',
      matchingId: 'M',
      owner: '1.3.6.1',
      isConfirmed: true,
      confirmationCode: '4711',
    },
  })
  const [other] = await read(`iccid,ac\n${ICCID},LPA:1$h.example$M$$1`)
  assert.ok(
    other !== undefined && 'code' in other && other.code.isConfirmed && other.code.owner === undefined,
  )
  // An eUICC that is known by its EID needs no matching id.
  assert.is(await problemOf('iccid,smdp_address,matching_id', `${ICCID},h.example,`), 'none')
})

codes('says what is wrong with a row, and goes on', async () => {
  const of = async (line: string): Promise<string> =>
    await problemOf('iccid,activation_code,smdp_address,matching_id', line)
  assert.match(await of('8.98821E+18,LPA:1$h.example$M'), /shortened by a spreadsheet/)
  assert.match(await of('898821,LPA:1$h.example$M'), /18 to 20 digits/)
  assert.match(await of(`${ICCID},https://example.com/qr`), /not of the form/)
  assert.match(await of(`${ICCID},LPA:1$h_x!$M`), /host name/)
  assert.match(await of(`${ICCID},LPA:1$h.example$a b`), /matching id has other characters/)
  assert.match(await of(`${ICCID},LPA:1$h.example$M$x`), /OID/)
  assert.match(await of(`${ICCID},LPA:1$h.example$M,other.example`), /two hosts/)
  assert.match(await of(`${ICCID},LPA:1$h.example$M,h.example,N`), /differ/)
  assert.match(await of(ICCID), /no activation code/)
  assert.match(await of(`${ICCID},LPA:1$h.example$M,,,,more`), /has 6 cells/)
  const rows = await read(`iccid,ac\nx,y\n\n${ICCID},1$h.example$M\n`)
  assert.equal(
    rows.map((row) => [row.line, 'code' in row]),
    [
      [2, false],
      [4, true],
    ],
  )
})

codes('refuses a file whose columns are not clear', async () => {
  assert.match(await refusal('iccid,label\n1,2'), /lacks activation_code/)
  assert.match(await refusal('ac\nx'), /lacks iccid/)
  assert.match(await refusal('iccid,ICC,ac\n1,2,3'), /two columns are read as iccid/)
  assert.match(await refusal(''), /empty/)
  assert.match(await refusal('PK\u0003\u0004'), /workbook/)
  assert.match(await refusal('iccid,smdp_address\n1,2'), /matching_id/)
})

const host = fc.stringMatching(/^[a-z0-9]{1,8}(\.[a-z0-9]{1,8}){1,3}(:[0-9]{2,5})?$/)
const matchingId = fc.stringMatching(/^[A-Za-z0-9-]{0,40}$/)

codes('gives back every activation code that can be written', () => {
  const owner = fc.option(fc.stringMatching(/^[0-2](\.[0-9]{1,5}){1,5}$/), { nil: undefined })
  fc.assert(
    fc.property(host, matchingId, owner, fc.boolean(), (address, id, oid, isConfirmed) => {
      const stored = oid === undefined ? id : `${id}$${oid}`
      const text = activationCode(address, stored, isConfirmed)
      assert.equal(activationParts(text), { address, matchingId: id, owner: oid, isConfirmed })
    }),
    { seed: testSeed(), numRuns: rounds(200) },
  )
})

codes('has each row of any file, read as it was written or with its problem', async () => {
  const row = fc.record({
    iccid: fc.stringMatching(/^89[0-9]{16,18}$/),
    address: host,
    id: matchingId,
    isBroken: fc.boolean(),
  })
  const file = fc.record({
    rows: fc.array(row, { maxLength: 12 }),
    delimiter: fc.constantFrom(',', ';', '\t'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    isWhole: fc.boolean(),
    isQuoted: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(file, async ({ rows, delimiter, end, isWhole, isQuoted }) => {
      const cell = (text: string): string => (isQuoted ? `"${text}"` : text)
      const header = isWhole ? ['ICCID', 'Activation Code'] : ['SMDP', 'ICCID', 'MatchingID']
      const lines = rows.map(({ iccid, address, id, isBroken }) => {
        const number = isBroken ? `${iccid}x` : iccid
        return isWhole ? [number, `LPA:1$${address}$${id}`] : [address, number, id]
      })
      const text = [header, ...lines].map((cells) => cells.map(cell).join(delimiter)).join(end)
      const found = await read(text)
      assert.is(found.length, rows.length)
      found.forEach((one, i) => {
        const wanted = rows[i]
        assert.is('problem' in one, wanted?.isBroken)
        if ('code' in one)
          assert.equal(
            [one.code.iccid, one.code.address, one.code.matchingId],
            [wanted?.iccid, wanted?.address, wanted?.id],
          )
      })
    }),
    { seed: testSeed(), numRuns: rounds(100) },
  )
})

codes('ends on any octets, with rows or a reason', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (octets) => {
      const file = Buffer.concat([Buffer.from('iccid,ac\n'), octets])
      await read(file).catch((error: unknown) =>
        assert.is((error as { code?: string }).code, 'validation_failed'),
      )
    }),
    { seed: testSeed(), numRuns: rounds(200) },
  )
})

codes.run()
