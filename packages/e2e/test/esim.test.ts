import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
import { type Service, startService } from '../harness/service.ts'

const esim = suite('e2e/esim')
let dataDir: string
let service: Service
let eums: Awaited<ReturnType<typeof prepareEsim>> = []

esim.before(
  async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'steeple-esim-'))
    service = await startService({ env: ESIM_ENV, dataDir })
    eums = await prepareEsim(service)
  },
  { limitMs: 360_000 },
)
esim.after(async () => {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

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

esim(
  'goes on after the service was killed between a delivery and its notification',
  async () => {
    const { token, activation_code } = await issue({})
    const euicc = newEuicc(eums)
    await downloadProfile({ euicc, activationCode: activation_code, baseUrl: service.url, notify: false })
    assert.is(await codeState(token), 'downloaded')
    await service.kill()
    service = await startService({ env: ESIM_ENV, dataDir, adminToken: service.adminToken })
    assert.is(await codeState(token), 'downloaded')
    await tell(euicc)
    assert.is(await codeState(token), 'installed')
  },
  { limitMs: 360_000 },
)

esim.run()
