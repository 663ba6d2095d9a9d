import type { X509Certificate } from 'node:crypto'
import { assert, seededDraw, suite } from '@steeple/testkit'
import { type FileFindings, verifyFile } from '../../src/file/verify.ts'
import { inPieces, type Node, newNode, ROWS } from '../support/node.ts'

const test = suite('the check of a file', { limitMs: 600_000 })

let node: Node
let file: Buffer
test.before(async () => {
  node = await newNode()
  file = await node.file(ROWS)
})
const DAY_MS = 86_400_000

async function check(
  octets: Uint8Array,
  trusted: readonly X509Certificate[] = [node.ca],
): Promise<FileFindings> {
  return await verifyFile(inPieces(octets), trusted)
}
/** What is wrong, in one text. */
async function wrong(octets: Uint8Array, trusted?: readonly X509Certificate[]): Promise<string> {
  return (await check(octets, trusted)).problems.join('; ')
}
function lines(): string[] {
  return file.toString('utf8').split(/(?<=\r\n)(?=sim,|tx,|session,|manifest,)/)
}

test('finds nothing wrong with what a node made, by its CA or by its certificate', async () => {
  for (const trusted of [[node.ca], [node.certificate]]) {
    const findings = await check(file, trusted)
    assert.equal(findings.problems, [])
    assert.equal([findings.rows, findings.manifest?.rows], [ROWS.length, ROWS.length])
    assert.is(findings.manifest?.node_name, 'hill 1')
  }
  assert.is(await wrong(await node.file([])), '')
})

test('finds every changed octet', async () => {
  const draw = seededDraw(20261122)
  for (let at = 0; at < file.length; at++) {
    const copy = Buffer.from(file)
    copy.writeUInt8(copy.readUInt8(at) ^ (1 + draw(255)), at)
    assert.ok((await check(copy)).problems.length > 0, `octet ${at}`)
  }
})

test('finds an end that is missing, wherever the file ends, and anything behind it', async () => {
  for (let length = 0; length < file.length; length++)
    assert.ok((await check(file.subarray(0, length))).problems.length > 0, `${length} octets`)
  assert.ok((await check(Buffer.concat([file, Buffer.from('x')]))).problems.length > 0)
  assert.match(await wrong(file.subarray(0, file.lastIndexOf('manifest,'))), /cut off/)
})

test('names rows that are missing, doubled, or in another order', async () => {
  const [head = '', first = '', second = '', ...rest] = lines()
  assert.match(
    await wrong(Buffer.from([head, second, ...rest].join(''))),
    /has 4 rows, and its manifest says 5/,
  )
  assert.match(await wrong(Buffer.from([head, first, first, second, ...rest].join(''))), /has 6 rows/)
  assert.match(await wrong(Buffer.from([head, second, first, ...rest].join(''))), /a row was changed/)
})

test('names another header, another text, and a foreign signature', async () => {
  assert.match(await wrong(Buffer.from('kind,id\r\n')), /not the header/)
  assert.match(await wrong(Buffer.from('a"b\r\n')), /no RFC 4180/)
  assert.match(await wrong(Buffer.alloc(0)), /cut off/)
  const other = await newNode()
  assert.match(await wrong(file, [other.ca, other.certificate]), /^a foreign signature: it is of the node /)
  assert.match(await wrong(file, []), /^a foreign signature/)
})

test('takes no manifest that the key of another node has signed', async () => {
  const other = await newNode()
  const theirs = (await other.file(ROWS)).toString('utf8')
  const [mine, forged] = [manifestOf(file.toString('utf8')), manifestOf(theirs)]
  // Their signature and certificate in my name, under my CA.
  const swapped = { ...mine, certificate: forged.certificate, signature: forged.signature }
  const text = file.toString('utf8')
  const at = text.lastIndexOf('"{""format')
  const cell = `"${JSON.stringify(swapped).replaceAll('"', '""')}"\r\n`
  assert.match(await wrong(Buffer.from(text.slice(0, at) + cell)), /its signature does not hold/)
})

test('says when the certificate was not valid as the file was made', async () => {
  assert.match(await wrong(await node.file(ROWS, 31 * DAY_MS)), /was not valid at/)
  assert.match(await wrong(await node.file(ROWS, -2 * DAY_MS)), /was not valid at/)
})

function manifestOf(text: string): Readonly<Record<string, unknown>> {
  const cell = text.slice(text.lastIndexOf('"{""format') + 1, -3).replaceAll('""', '"')
  return JSON.parse(cell) as Readonly<Record<string, unknown>>
}

test.run()
