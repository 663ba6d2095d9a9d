import { createHash, randomBytes } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import { readTar, writeTar } from '../src/format/archive.ts'
import { pack, unpack } from '../src/format/gzip-seal.ts'
import { MANIFEST_NAME, type Member, manifestText } from '../src/format/manifest.ts'
import { FACTS, PASSPHRASE, readBack } from './support/state.ts'

const test = suite('a hostile backup')

const MIB = 1_048_576

/** A file of a tar archive by hand, in blocks of 512 octets. */
interface Part {
  readonly name: string
  readonly content: Uint8Array
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** An archive with a seal that fits, whatever is in it. */
async function sealed(tar: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of pack(tar)) pieces.push(piece)
  return Buffer.concat(pieces)
}

function memberOf({ name, content }: Part): Member {
  return { name, size: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

function entryOf({ name, content }: Part): Parameters<typeof writeTar>[0][number] {
  return { name, size: content.length, content: () => one(content) }
}

/** An archive whose manifest says one thing and whose files are another. */
function archive(said: readonly Part[], held: readonly Part[]): Promise<Buffer> {
  const manifest = Buffer.from(manifestText({ facts: FACTS, members: said.map(memberOf) }))
  return sealed(writeTar([{ name: MANIFEST_NAME, content: manifest }, ...held].map(entryOf), 0))
}

/** The blocks of an archive, for a hand to change. */
async function blocksOf(parts: readonly Part[]): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of writeTar(parts.map(entryOf), 0)) pieces.push(piece)
  return Buffer.concat(pieces)
}

function withSum(header: Buffer): Buffer {
  header.fill(0x20, 148, 156)
  const sum = header.reduce((total, octet) => total + octet, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}

const STORE: Part = { name: 'store.db', content: randomBytes(700) }

test('a file twice, one that the manifest does not name, one of another size or content', async () => {
  const key = { name: 'keys/vault.key', content: randomBytes(32) }
  const cases = [
    [[STORE], [STORE, STORE]],
    [
      [STORE, STORE],
      [STORE, STORE],
    ],
    [[STORE], [STORE, key]],
    [[STORE, key], [STORE]],
    [[STORE], [{ ...STORE, content: STORE.content.subarray(1) }]],
    [[STORE], [{ ...STORE, content: randomBytes(700) }]],
  ] as const
  for (const [said, held] of cases) assert.is(await readBack(await archive(said, held)), 'backup_invalid')
})

test('a link, a folder, a device and whatever else is no file', async () => {
  const manifest = {
    name: MANIFEST_NAME,
    content: Buffer.from(manifestText({ facts: FACTS, members: [memberOf(STORE)] })),
  }
  const begin = (await blocksOf([manifest])).subarray(0, -1_024)
  for (const type of '1234567gKL\0') {
    const blocks = await blocksOf([STORE])
    const [header, rest] = [Buffer.from(blocks.subarray(0, 512)), blocks.subarray(512)]
    header.write(type, 156, 'latin1')
    const outcome = await readBack(await sealed(one(Buffer.concat([begin, withSum(header), rest]))))
    assert.is(outcome, 'backup_invalid', `type ${JSON.stringify(type)}`)
  }
})

test('attributes upon attributes, without end', async () => {
  const header = Buffer.from((await blocksOf([{ name: 'pax', content: Buffer.alloc(0) }])).subarray(0, 512))
  header.write('x', 156, 'latin1')
  withSum(header)
  const many = async function* (): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 100_000; n++) yield header
  }
  assert.is(await readBack(await sealed(many())), 'backup_invalid')
})

test('zeros without end behind the last file are not unpacked', async () => {
  let given = 0
  const zeros = async function* (): AsyncGenerator<Uint8Array> {
    const manifest = Buffer.from(manifestText({ facts: FACTS, members: [memberOf(STORE)] }))
    yield await blocksOf([{ name: MANIFEST_NAME, content: manifest }, STORE])
    for (; given < 256; given++) yield Buffer.alloc(MIB)
  }
  const bomb = await sealed(zeros())
  assert.ok(bomb.length < 2 * MIB, `${bomb.length} octets`)
  assert.is(await readBack(bomb), 'backup_invalid')
})

test('a file that unpacks to a thousand times its length is given up early', async () => {
  const store: Part = { name: 'store.db', content: Buffer.alloc(200 * MIB) }
  let given = 0
  const file = await archive([store], [store])
  const files = readTar(unpack(one(file)))
  const code = await (async () => {
    for await (const { chunks } of files) for await (const { length } of chunks) given += length
  })().catch((error: unknown) => String(Reflect.get(Object(error), 'code')))
  assert.is(code, 'backup_invalid')
  assert.ok(given < 65 * MIB + 50 * file.length && given < 150 * MIB, `${given} octets were given`)
})

test('the room for all files is asked for before any of them comes', async () => {
  const key: Part = { name: 'keys/vault.key', content: randomBytes(32) }
  const said: number[] = []
  const file = await archive([STORE, key], [STORE, key])
  assert.type(await readBack(file, undefined, 65_536, async (bytes) => void said.push(bytes)), 'object')
  assert.equal(said, [732])
  const full = async (): Promise<never> =>
    Promise.reject(Object.assign(new Error('no room'), { code: 'full' }))
  assert.is(await readBack(file, undefined, 65_536, full), 'full')
})

test('a manifest without end, or with more files than anybody has', async () => {
  const long = { name: MANIFEST_NAME, content: Buffer.alloc(17 * MIB, 0x20) }
  assert.is(await readBack(await sealed(writeTar([entryOf(long)], 0))), 'backup_invalid')
  const members = Array.from({ length: 50_001 }, (_, n) => ({
    name: `keys/${n}`,
    size: 0,
    sha256: '0'.repeat(64),
  }))
  assert.throws(() => manifestText({ facts: FACTS, members }), /too many/)
  const text = manifestText({ facts: FACTS, members: [] }).replace(
    '"members": []',
    `"members": ${JSON.stringify(members)}`,
  )
  const many = { name: MANIFEST_NAME, content: Buffer.from(text) }
  assert.is(await readBack(await sealed(writeTar([entryOf(many)], 0))), 'backup_invalid')
})

test('names of properties that every object has are names like others', async () => {
  const text = manifestText({ facts: FACTS, members: [memberOf(STORE)] })
    .replace('"schema": {', '"schema": { "__proto__": "x", "constructor": "y",')
    .replace('"counts": {', '"counts": { "__proto__": 1,')
  const manifest = { name: MANIFEST_NAME, content: Buffer.from(text) }
  const outcome = await readBack(await sealed(writeTar([manifest, STORE].map(entryOf), 0)))
  assert.type(outcome, 'object')
  assert.is(Reflect.get({}, 'x'), undefined)
})

test('a header that asks for more work than any passphrase is worth', async () => {
  const header = Buffer.alloc(48 + 100)
  header.write('SVCBKP\r\n', 0, 'latin1')
  header.writeUInt8(1, 8)
  header.writeUInt32BE(65_536, 12)
  for (const [logN, r, p] of [
    [30, 8, 1],
    [17, 255, 1],
    [17, 8, 255],
    [0, 8, 1],
  ] as const) {
    header.writeUInt8(logN, 9)
    header.writeUInt8(r, 10)
    header.writeUInt8(p, 11)
    assert.is(await readBack(header, PASSPHRASE), 'backup_decrypt_failed')
  }
})

test.run()
