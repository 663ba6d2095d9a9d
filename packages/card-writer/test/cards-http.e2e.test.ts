import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandRequest, ImsiHash } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  driverPlugin,
  fakeHss,
  loadTestbed,
  pluginFrom,
  suite,
  type TempDir,
  type Testbed,
  type TestResponse,
  tempDir,
} from '@steeple/testkit'
import { commands } from '../src/commands.ts'
import { plugin } from '../src/plugin.ts'
import { blankCard, type StandInReader, standInReader } from './support/reader.ts'

const test = suite('card-writer/http')

let bed: Testbed
let dir: TempDir
let reader: StandInReader
const hss = fakeHss()
let last = 0

test.before(async () => {
  dir = await tempDir('svc-card-test')
  reader = await standInReader(dir.path)
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({
    plugins: [
      { dir: fileURLToPath(new URL('../../sims', import.meta.url)) },
      driverPlugin('hss', hss),
      await pluginFrom(import.meta.url, plugin),
    ],
    config: { card_writer: { program: reader.program } },
  })
})
test.after(async () => {
  await bed.stop()
  await dir[Symbol.asyncDispose]()
})

async function issued(): Promise<{ readonly hash: ImsiHash; readonly imsi: string }> {
  last += 1
  const imsi = `99999${String(last).padStart(10, '0')}`
  const { status } = await bed.request('POST', '/v1/sims', { body: { imsi } })
  assert.is(status, 201)
  return { hash: imsiHash(imsi as never), imsi }
}

const post = (path: string, body?: object): Promise<TestResponse> => bed.request('POST', path, { body })
const errorOf = ({ status, body }: TestResponse): string =>
  `${status} ${(body as { readonly error?: { readonly code: string } }).error?.code ?? ''}`
const admOf = (number: number): string => String(12_340_000 + number)
const iccidOf = (number: number): string => `8988211${String(number).padStart(12, '0')}`
const listed = async (hash: string): Promise<Readonly<Record<string, unknown>>> =>
  ((await bed.request('GET', `/v1/cards?imsi=${hash}`)).body as { cards: Record<string, unknown>[] })
    .cards[0] ?? {}

test('writes a SIM on the card that was read, compares it, and keeps who did it', async () => {
  const { hash, imsi } = await issued()
  await reader.put(blankCard(1))
  const { body: seen } = await post('/v1/cards/read')
  assert.equal(seen, {
    model: 'sysmoISIM-SJA5',
    iccid: iccidOf(1),
    imsi_sha256_12: imsiHash('001010000000001' as never),
  })
  const answer = await post('/v1/cards/write', { imsi: hash, iccid: iccidOf(1), adm: admOf(1) })
  assert.is(answer.status, 200, JSON.stringify(answer.body))
  const { files } = await reader.card()
  assert.is(files['EF.IMSI'], '089999990000000010')
  const key = files['EF.USIM_AUTH_KEY'] ?? ''
  assert.match(key, /^14(?!0{64})[0-9a-f]{64}$/)
  assert.is(files['EF.SIM_AUTH_KEY'], key)
  assert.is(files['EF.FPLMN'], 'f'.repeat(24), 'the network would not be tried again')
  const record = await listed(hash)
  assert.is(record.iccid_last4, '0001')
  assert.match(String(record.written_by), /^admin-env:/)
  const [entry] = await bed.audit()
  assert.equal([entry?.action, entry?.target, entry?.outcome], ['card.write', hash, 'ok'])
  // Nobody who looks at processes, or into the trail, learns what is on the card.
  for (const text of [await reader.seen(), JSON.stringify(await bed.audit())])
    for (const secret of [imsi, admOf(1), key.slice(2, 34), key.slice(34), iccidOf(1)])
      assert.not.match(text, secret)
  const left = await readdir('/dev/shm')
  assert.equal(
    left.filter((name) => name.startsWith('svc-card-')),
    [],
  )
})

test('refuses what would make two cards of one SIM, or take a SIM off a card, until it is said again', async () => {
  const [first, second] = [await issued(), await issued()]
  await reader.put(blankCard(2))
  const one = { imsi: first.hash, iccid: iccidOf(2), adm: admOf(2) }
  assert.is((await post('/v1/cards/write', one)).status, 200)
  const before = await reader.card()
  assert.is(errorOf(await post('/v1/cards/write', one)), '409 card_conflict')
  const other = { imsi: second.hash, iccid: iccidOf(2), adm: admOf(2) }
  assert.is(errorOf(await post('/v1/cards/write', other)), '409 card_conflict')
  assert.is(errorOf(await post('/v1/cards/write', { ...other, iccid: iccidOf(9) })), '409 card_conflict')
  assert.equal(await reader.card(), before)
  assert.is((await post('/v1/cards/write', { ...other, again: true })).status, 200)
  assert.not.equal(await reader.card(), before)
})

test('tries a wrong ADM key once, and does not say that a card is written that is not', async () => {
  const { hash } = await issued()
  await reader.put(blankCard(3))
  const wrong = await post('/v1/cards/write', { imsi: hash, iccid: iccidOf(3), adm: '99999999' })
  assert.is(errorOf(wrong), '409 card_write_failed')
  assert.match(JSON.stringify(wrong.body), '2 tries are left')
  assert.not.match(JSON.stringify(wrong.body), /99999999|3939393939393939/)
  assert.is((await reader.card()).tries, 2)
  const [entry] = await bed.audit()
  assert.equal([entry?.action, entry?.target, entry?.outcome], ['card.write', hash, 'failed'])
  await reader.put(blankCard(3, { isWornOut: true }))
  const worn = await post('/v1/cards/write', { imsi: hash, iccid: iccidOf(3), adm: admOf(3) })
  assert.is(errorOf(worn), '409 card_write_failed')
  assert.is((await listed(hash)).written_at, null)
})

test('says what is missing: a card, one that can be written, a reader, the program', async () => {
  await reader.put(null)
  assert.is(errorOf(await post('/v1/cards/read')), '409 card_missing')
  await reader.put(blankCard(4, { model: '' }))
  assert.is(errorOf(await post('/v1/cards/read')), '409 card_conflict')
  const { hash } = await issued()
  assert.is(
    errorOf(await post('/v1/cards/write', { imsi: 'ffffffffffff', iccid: iccidOf(4), adm: '1234' })),
    '404 sim_not_found',
  )
  await post(`/v1/sims/${hash}/revoke`)
  assert.is(errorOf(await post('/v1/cards/script', { imsi: hash })), '409 sim_state_conflict')
  assert.is(errorOf(await bed.request('GET', '/v1/cards')), '400 validation_failed')
})

test('gives the script to those who may have keys, and marks what a desk has written', async () => {
  const { hash, imsi } = await issued()
  const { body } = await post('/v1/cards/script', { imsi: hash })
  const { script } = body as { readonly script: string }
  assert.match(script, /^verify_adm$/m)
  const [entry] = await bed.audit()
  assert.equal([entry?.action, entry?.target], ['card.script', hash])
  assert.not.match(JSON.stringify(entry), imsi)
  assert.is((await post('/v1/cards/written', { imsi: hash, iccid: iccidOf(5) })).status, 200)
  assert.is((await listed(hash)).iccid_last4, '0005')
})

/** Runs `svc sim write` with what was typed; `told` hears what it says to the person. */
async function write(
  typed: object,
  told: (text: string) => Promise<void> = async () => undefined,
): Promise<string> {
  let said = ''
  let hearing = Promise.resolve()
  const call = async (operation: string, { query, body }: CommandRequest = {}): Promise<object> => {
    await hearing
    const [method = '', path = ''] = operation.split(' ')
    const search = new URLSearchParams(query as Record<string, string>).toString()
    const answer = await bed.request(method, search === '' ? path : `${path}?${search}`, { body })
    if (answer.status < 300) return answer.body as object
    const { code, message } = (answer.body as { error: { code: string; message: string } }).error
    throw Object.assign(new Error(message), { code })
  }
  await commands['sim write']?.({
    typed: { program: reader.program, reader: '0', ...typed },
    isJson: false,
    ask: undefined,
    simHash: (text: string) => text,
    printable: (text: string) => text,
    call,
    list: async (operation: string, key: string, _: number, request: CommandRequest) => ({
      rows: ((await call(operation, request)) as Record<string, unknown>)[key],
    }),
    writeSecret: (file: string, content: string) => writeFile(file, content, { mode: 0o600 }),
    failure: (code: string, message: string) => Object.assign(new Error(message), { code }),
    usage: (message: string) => new Error(message),
    input: async () => `${admOf(7)}\n`,
    out: () => undefined,
    err: (text: string) => {
      said += text
      hearing = told(text)
    },
  } as never)
  return said
}

test('the command writes a batch by label, each SIM on the card that is put in for it', async () => {
  const { body } = await bed.request('POST', '/v1/sims', { body: { count: 2, label: 'village' } })
  const { batch_id: batch, sims } = body as { batch_id: string; sims: { imsi_sha256_12: string }[] }
  const adms = join(dir.path, 'vendor.csv')
  await writeFile(
    adms,
    `ICCID,ADM1\n${[10, 11].map((card) => `${iccidOf(card)},${admOf(card)}`).join('\n')}\n`,
  )
  const said = await write({ batch, admCsv: adms }, async (text) => {
    const [, turn] = /^(\d) of 2: put in the card for village \1 /.exec(text) ?? []
    if (turn !== undefined) await reader.put(blankCard(9 + Number(turn)))
  })
  assert.match(said, /1 of 2: .*village 1 .*2 of 2: .*village 2 /s)
  const written = await Promise.all(sims.map(({ imsi_sha256_12: hash }) => listed(hash)))
  assert.equal(written.map(({ label, iccid_last4: end }) => `${label} ${end}`).toSorted(), [
    'village 1 0010',
    'village 2 0011',
  ])
  const error = await write({ batch, admCsv: adms }).then(() => undefined, String)
  assert.match(String(error), 'no SIM in this batch')
})

test('the command writes in a reader of its own machine, and saves scripts that only their owner reads', async () => {
  const { hash, imsi } = await issued()
  await reader.put(blankCard(7))
  const said = await write({ hashes: [hash], here: true })
  assert.not.match(said, imsi)
  assert.match((await reader.card()).files['EF.USIM_AUTH_KEY'] ?? '', /^14(?!0{64})/)
  assert.is((await listed(hash)).iccid_last4, '0007')
  const error = await write({ hashes: [hash], here: true }).then(() => undefined, String)
  assert.match(String(error), 'is on a card already')
  const script = join(dir.path, 'scripts')
  await write({ hashes: [hash], script })
  const file = join(script, `card-${hash}.pysim`)
  assert.is((await stat(file)).mode & 0o777, 0o600)
  assert.match(await readFile(file, 'utf8'), /select EF.USIM_AUTH_KEY\nupdate_binary 14[0-9a-f]{64}\n/)
})

test.run()
