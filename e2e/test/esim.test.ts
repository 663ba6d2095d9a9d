import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { child, readAll, type Tlv } from '@steeple/sgp22'
import { assert, eventually, suite } from '@steeple/testkit'
import {
  deleteOn,
  deliverNotifications,
  downloadProfile,
  type Euicc,
  enableOn,
  es9Client,
  fetchTransport,
} from '@steeple/virtual-euicc'
import { download, ESIM_ENV, expect, iccidOctets, newEuicc, prepareEsim } from '../harness/esim.ts'
import { exportedCards, type Service, startService } from '../harness/service.ts'

const esim = suite('e2e/esim')
let dataDir: string
let service: Service
let eums: Awaited<ReturnType<typeof prepareEsim>> = []

esim.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'steeple-esim-'))
  // As `svc node init` makes them.
  mkdirSync(join(dataDir, 'keys'), { mode: 0o700 })
  for (const [id, { privateKey }] of [generateKeyPairSync('x25519'), P256()].entries())
    writeFileSync(join(dataDir, 'keys', `hnet-${id + 1}.key`), pem(privateKey), { mode: 0o600 })
  service = await startService({ env: ESIM_ENV, dataDir })
  eums = await prepareEsim(service)
})
esim.after(async () => {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

function P256(): { readonly privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
}
function pem(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }))
}

interface Issued {
  readonly token: string
  readonly activation_code: string
  readonly imsi_sha256_12: string
}

async function issue(body: object): Promise<Issued> {
  return expect(await service.request('POST', '/v1/esim/issue', { body }), 201)
}
const get = async (path: string): Promise<ReturnType<typeof expect>> =>
  expect(await service.request('GET', path), 200)
const codeState = async (token: string): Promise<string> => (await get(`/v1/esim/codes/${token}`)).state

async function tell(euicc: Euicc): Promise<void> {
  await deliverNotifications(euicc, es9Client(service.url, fetchTransport), 'smdp.example.org')
}

async function refusal(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'none',
    (error: unknown) => String(error),
  )
}

for (const curve of ['P-256', 'brainpoolP256r1']) {
  esim(
    `delivers the profile of a new SIM to an eUICC on ${curve}, which holds the keys of that SIM`,
    async () => {
      const { token, activation_code, imsi_sha256_12: hash } = await issue({ label: 'ann' })
      const euicc = newEuicc(eums.filter((one) => one.curve === curve))
      const { profile, metadata } = await download(service, euicc, activation_code)
      const sim = expect(
        await service.request('POST', '/v1/sims/find', { body: { imsi: profile.imsi } }),
        200,
      )
      assert.is(sim.sims[0]?.imsi_sha256_12, hash)
      assert.is(metadata.name, `Steeple ${profile.iccid.slice(-4)}`)
      const shown = await get(`/v1/esim/codes/${token}`)
      assert.equal(
        [shown.state, shown.downloads, shown.eid_last4, shown.profile.state],
        ['installed', 1, euicc.eid.slice(-4), 'installed'],
      )
    },
    { limitMs: 60_000 },
  )
}

/** A card of `svc sim export --format json`. */
interface Card extends Readonly<Record<string, string | object | undefined>> {
  readonly ef_suci_calc_info?: {
    readonly prot_scheme_id_list: readonly { readonly identifier: number; readonly key_index: number }[]
    readonly hnet_pubkey_list: readonly {
      readonly hnet_pubkey_identifier: number
      readonly hnet_pubkey: string
    }[]
  }
}

const hexOf = (octets: Uint8Array | undefined): string => Buffer.from(octets ?? []).toString('hex')
const swap = (hex: string): string => hex.replaceAll(/(.)(.)/g, '$2$1')
const asCode = (hex: string): string => Buffer.from(hex.replace(/(ff)+$/, ''), 'hex').toString('latin1')

/** A profile as whoever reads it by the specification finds it: elements by tag, files by their place. TCA 3.3 annex. */
function readerOf(octets: Uint8Array) {
  const elements = readAll(octets)
  const all = (tag: number): readonly Tlv[] => elements.filter((one) => one.tag === tag)
  const at = (from: Tlv | undefined, ...tags: readonly number[]): Tlv | undefined =>
    tags.reduce<Tlv | undefined>((one, tag) => one && child(one, tag), from)
  const file = (tag: number, place: number): string => hexOf(at(all(tag)[0], place, 0x83)?.value)
  const code = (tag: number, path: readonly number[], reference: number): string => {
    const [list] = all(tag)
      .map((one) => at(one, ...path))
      .filter((one) => one !== undefined)
    const entry = list?.children().find((one) => at(one, 0x80)?.value.at(-1) === reference)
    return asCode(hexOf(at(entry, 0x81)?.value))
  }
  return { all, at, file, code }
}
type Reader = ReturnType<typeof readerOf>

const MSISDN = '4915112345678'
/** For all that a card is given: what the card has, and what the profile has in that place. */
const PAIRS: Readonly<Record<string, (card: Card, of: Reader) => readonly [string, string]>> = {
  imsi: ({ imsi }, { file }) => [`${imsi}`, swap(file(0xb3, 0xa3).slice(2)).slice(1)],
  iccid: ({ iccid }, { file }) => [`${iccid}`, swap(file(0xb0, 0xa4)).replace(/f$/, '')],
  ki: ({ ki }, { all, at }) => [
    `${ki} ${ki}`.toLowerCase(),
    all(0xa4)
      .map((aka) => hexOf(at(aka, 0xa1, 0xa1, 0x82)?.value))
      .join(' '),
  ],
  opc: ({ opc }, { all, at }) => [
    `${opc} ${opc}`.toLowerCase(),
    all(0xa4)
      .map((aka) => hexOf(at(aka, 0xa1, 0xa1, 0x83)?.value))
      .join(' '),
  ],
  adm1: ({ adm1 }, { code }) => [`${adm1}`, code(0xa2, [0xa1, 0xa0], 0x0a)],
  pin1: ({ pin1 }, { code }) => [`${pin1}`, code(0xa2, [0xa1, 0xa0], 0x01)],
  puk1: ({ puk1 }, { code }) => [`${puk1}`, code(0xa3, [0xa1], 0x01)],
  pin2: ({ pin2 }, { all, at }) => [
    `${pin2}`,
    all(0xa2)
      .flatMap((one) => at(one, 0xa1, 0xa0)?.children() ?? [])
      .filter((one) => at(one, 0x80)?.value.at(-1) === 0x81)
      .map((one) => asCode(hexOf(at(one, 0x81)?.value)))
      .find(() => true) ?? '',
  ],
  puk2: ({ puk2 }, { code }) => [`${puk2}`, code(0xa3, [0xa1], 0x81)],
  ef_suci_calc_info: ({ ef_suci_calc_info: suci }, { file }) => {
    const schemes = (suci?.prot_scheme_id_list ?? []).map(
      ({ identifier, key_index }) => `0${identifier}0${key_index}`,
    )
    const keys = (suci?.hnet_pubkey_list ?? []).map(({ hnet_pubkey_identifier: id, hnet_pubkey: key }) => {
      const length = (key.length / 2).toString(16)
      return `80010${id}81${length}${key}`
    })
    const [one, other] = [schemes.join(''), keys.join('')]
    const length = (text: string): string => (text.length / 2).toString(16).padStart(2, '0')
    return [`a0${length(one)}${one}a1${length(other)}${other}`, file(0xbc, 0xa9)]
  },
}
/** What a profile has beside, by which a phone uses the above. */
const BESIDE: Readonly<Record<string, (card: Card, of: Reader) => readonly [unknown, unknown]>> = {
  'access class': ({ imsi }, { file }) => [
    1 << Number(`${imsi}`.at(-1)),
    Number.parseInt(file(0xb3, 0xb2), 16),
  ],
  'own number': (_card, { file }) => ['0891945111325476f8', file(0xb4, 0xa7).slice(-28, -10)],
  'service 21, MSISDN': (_card, { file }) => [0x10, Number.parseInt(file(0xb3, 0xa8).slice(4, 6), 16) & 0x10],
  'services 124 and 125, SUCI by the phone': (_card, { file }) => [
    0x08,
    Number.parseInt(file(0xb3, 0xa8).slice(30, 32), 16) & 0x18,
  ],
  'name of the network': (_card, { file }) => ['Steeple', asCode(file(0xb3, 0xad).slice(2))],
  'type of the profile': (_card, { all, at }) => ['Steeple', asCode(hexOf(at(all(0xa0)[0], 0x82)?.value))],
}

esim(
  'has in an eSIM all that the card of the same SIM is given',
  async () => {
    const { body } = await service.request('POST', '/v1/sims', { body: { msisdn: MSISDN } })
    const { activation_code } = await issue({ imsi_sha256_12: body.first.imsi_sha256_12 })
    const euicc = newEuicc(eums)
    await download(service, euicc, activation_code)
    const [card] = JSON.parse(await exportedCards(dataDir, body.batch_id)) as readonly Card[]
    const [kept] = euicc.save().profiles
    if (card === undefined || kept === undefined) throw new Error('one card, and one profile')
    const of = readerOf(Uint8Array.from(Buffer.from(kept.package, 'hex')))
    assert.equal(
      Object.keys(card).toSorted(),
      Object.keys(PAIRS).toSorted(),
      'a column of cards has its pair here',
    )
    for (const [name, pair] of Object.entries({ ...PAIRS, ...BESIDE })) {
      const [wanted, found] = pair(card, of)
      // Keys are no text of a failure.
      assert.ok(wanted === found, `${name} differs`)
    }
  },
  { limitMs: 60_000 },
)

esim(
  'asks for the confirmation code, and takes the right one alone',
  async () => {
    const { token, activation_code } = await issue({ confirmation_code: '4711' })
    const euicc = newEuicc(eums)
    assert.match(await refusal(download(service, euicc, activation_code, '4712')), /8\.2\.7/)
    assert.is((await get(`/v1/esim/codes/${token}`)).state, 'released')
    await download(service, euicc, activation_code, '4711')
    assert.is(await codeState(token), 'installed')
  },
  { limitMs: 60_000 },
)

esim(
  'delivers a code once, and to nobody else',
  async () => {
    const { activation_code } = await issue({})
    const first = newEuicc(eums)
    await download(service, first, activation_code)
    for (const euicc of [first, newEuicc(eums)])
      assert.not.equal(await refusal(download(service, euicc, activation_code)), 'none')
  },
  { limitMs: 60_000 },
)

esim(
  'delivers nothing by a code that is revoked, or whose SIM is',
  async () => {
    const revoked = await issue({})
    expect(await service.request('POST', '/v1/esim/revoke', { body: { token: revoked.token } }), 200)
    assert.match(await refusal(download(service, newEuicc(eums), revoked.activation_code)), /8\.2\.6/)
    const orphan = await issue({})
    expect(await service.request('POST', `/v1/sims/${orphan.imsi_sha256_12}/revoke`, { body: {} }), 200)
    assert.match(await refusal(download(service, newEuicc(eums), orphan.activation_code)), /8\.2\.6/)
    await eventually(async () => assert.is(await codeState(orphan.token), 'revoked'))
  },
  { limitMs: 60_000 },
)

esim(
  'moves a subscriber from a card to an eSIM',
  async () => {
    const card = expect(
      await service.request('POST', '/v1/sims', { body: { label: 'bo', quota_bytes: 5_000 } }),
      201,
    )
    const hash = card.first.imsi_sha256_12
    const { activation_code, imsi_sha256_12: next } = await issue({ replaces: hash })
    await download(service, newEuicc(eums), activation_code)
    const [old, fresh] = [await get(`/v1/sims/${hash}`), await get(`/v1/sims/${next}`)]
    assert.equal([old.state, fresh.label, fresh.replaces, fresh.quota_bytes], ['revoked', 'bo', hash, 5_000])
  },
  { limitMs: 60_000 },
)

esim(
  'knows what became of a profile on its eUICC',
  async () => {
    const { token, activation_code } = await issue({})
    const euicc = newEuicc(eums)
    const { profile } = await download(service, euicc, activation_code)
    const iccid = iccidOctets(profile.iccid)
    const state = async (): Promise<string> => (await get(`/v1/esim/codes/${token}`)).profile.state
    enableOn(euicc, iccid)
    await tell(euicc)
    assert.is(await state(), 'enabled')
    deleteOn(euicc, iccid)
    await tell(euicc)
    assert.is(await state(), 'enabled', 'an enabled profile is not deleted')
    const { euiccs } = await get('/v1/esim/euiccs?limit=500')
    const mine = euiccs.find(({ eid_last4 }: { eid_last4: string }) => eid_last4 === euicc.eid.slice(-4))
    assert.is(mine?.profiles[0]?.token, token)
  },
  { limitMs: 60_000 },
)

esim('goes on after the service was killed between a delivery and its notification', async () => {
  const { token, activation_code } = await issue({})
  const euicc = newEuicc(eums)
  await downloadProfile({ euicc, activationCode: activation_code, baseUrl: service.url, notify: false })
  assert.is(await codeState(token), 'downloaded')
  await service.kill()
  service = await startService({ env: ESIM_ENV, dataDir, adminToken: service.adminToken })
  assert.is(await codeState(token), 'downloaded')
  await tell(euicc)
  assert.is(await codeState(token), 'installed')
})

esim.run()
