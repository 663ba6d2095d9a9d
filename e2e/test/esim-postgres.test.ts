import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import {
  deleteOn,
  deliverNotifications,
  downloadProfile,
  type Es9Transport,
  type Euicc,
  enableOn,
  es9Client,
  fetchTransport,
} from '@steeple/virtual-euicc'
import { createFleet, type Fleet } from '../harness/cluster/fleet.ts'
import { ownSchema, PG_URL } from '../harness/cluster/own-schema.ts'
import { ESIM_ENV, expect, iccidOctets, type LabEum, newEuicc, prepareEsim } from '../harness/esim.ts'

const esim = suite('e2e/esim-postgres')
const NAMES = ['a', 'b'] as const
const ADDRESS = 'smdp.example.org'

/** A network with two instances on one PostgreSQL, of which each takes every other call of a phone. */
interface Scene {
  readonly fleet: Fleet
  readonly eums: readonly LabEum[]
  readonly transport: Es9Transport
  issue(body?: object): Promise<{ readonly token: string; readonly activation_code: string }>
  state(token: string): Promise<string>
  download(
    euicc: Euicc,
    activationCode: string,
    confirmationCode?: string,
  ): ReturnType<typeof downloadProfile>
}

async function withTwo(work: (scene: Scene) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  await using schema = await ownSchema()
  await using fleet = await createFleet({ dir: dir.path, store: () => schema.url, env: ESIM_ENV })
  for (const name of NAMES) await fleet.start(name)
  const [a, b] = NAMES.map((name) => fleet.of(name))
  if (a === undefined || b === undefined) throw new Error('both were started')
  await fleet.leader(NAMES, 60_000)
  const eums = await prepareEsim(a)
  // The other instance hears of certificates behind the answer.
  await eventually(async () => {
    const { certs } = expect(await b.request('GET', '/v1/esim/certs'), 200)
    assert.is(certs.filter(({ role }: { role: string }) => role === 'eum').length, eums.length)
  })
  let calls = 0
  const transport: Es9Transport = async (url, headers, body) => {
    calls += 1
    const { pathname } = new URL(url)
    return await fetchTransport(`${fleet.of(NAMES[calls % 2] ?? 'a').url}${pathname}`, headers, body)
  }
  await work({
    ...{ fleet, eums, transport },
    issue: async (body = {}) => expect(await a.request('POST', '/v1/esim/issue', { body }), 201),
    state: async (token) => expect(await b.request('GET', `/v1/esim/codes/${token}`), 200).state,
    download: (euicc, activationCode, confirmationCode) =>
      downloadProfile({
        ...{ euicc, activationCode, transport, baseUrl: a.url },
        ...(confirmationCode !== undefined && { confirmationCode }),
      }),
  })
}
const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => String(error),
  )

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  esim('delivers profiles out of PostgreSQL, each call of a phone to another instance', () =>
    withTwo(async ({ eums, issue, state, download, transport, fleet }) => {
      for (const curve of ['P-256', 'brainpoolP256r1']) {
        const { token, activation_code } = await issue({ label: curve })
        const euicc = newEuicc(eums.filter((one) => one.curve === curve))
        const { profile } = await download(euicc, activation_code)
        assert.is(await state(token), 'installed')
        const iccid = iccidOctets(profile.iccid)
        const tell = () => deliverNotifications(euicc, es9Client(fleet.of('b').url, transport), ADDRESS)
        enableOn(euicc, iccid)
        await tell()
        const shown = expect(await fleet.of('a').request('GET', `/v1/esim/codes/${token}`), 200)
        assert.equal([shown.downloads, shown.profile.state], [1, 'enabled'])
        deleteOn(euicc, iccid)
        const other = newEuicc(eums)
        assert.match(await refusal(download(other, activation_code)), /8\.\d/)
      }
    }),
  )

  esim('counts wrong confirmation codes, and gives one code to one eUICC, whichever instance is asked', () =>
    withTwo(async ({ eums, issue, state, download }) => {
      const asked = await issue({ confirmation_code: '4711' })
      const euicc = newEuicc(eums)
      assert.match(await refusal(download(euicc, asked.activation_code, '4712')), /8\.2\.7/)
      await download(euicc, asked.activation_code, '4711')
      assert.is(await state(asked.token), 'installed')
      const wanted = await issue()
      const phones = Array.from({ length: 6 }, () => newEuicc(eums))
      const ends = await Promise.all(phones.map((one) => refusal(download(one, wanted.activation_code))))
      assert.is(ends.filter((end) => end === 'none').length, 1, ends.join('\n'))
      assert.is(await state(wanted.token), 'installed')
    }),
  )

  esim(
    'goes on at the other instance when one is killed in the middle, and believes no revoked maker at either',
    () =>
      withTwo(async ({ fleet, eums, issue, state, download }) => {
        const { token, activation_code } = await issue()
        const euicc = newEuicc(eums)
        const dead = fleet.of('a')
        let calls = 0
        const transport: Es9Transport = async (url, headers, body) => {
          calls += 1
          if (calls === 3) await dead.kill()
          const at = calls < 3 ? dead : fleet.of('b')
          return await fetchTransport(`${at.url}${new URL(url).pathname}`, headers, body)
        }
        await downloadProfile({ euicc, activationCode: activation_code, transport, baseUrl: dead.url })
        assert.is(await state(token), 'installed')
        await fleet.start('a')
        const [a, b] = [fleet.of('a'), fleet.of('b')]
        const next = expect(await b.request('POST', '/v1/esim/issue', { body: {} }), 201)
        const { certs } = expect(await b.request('GET', '/v1/esim/certs'), 200)
        for (const { id, role } of certs)
          if (role === 'eum') expect(await b.request('POST', '/v1/esim/certs/revoke', { body: { id } }), 200)
        await eventually(async () => {
          const shown = expect(await a.request('GET', '/v1/esim/certs'), 200).certs
          const makers = shown.filter(({ role }: { role: string }) => role === 'eum')
          assert.ok(makers.every(({ revoked }: { revoked: boolean }) => revoked))
        })
        assert.match(await refusal(download(newEuicc(eums), next.activation_code)), /8\.1\.2/)
      }),
  )
}

esim.run()
