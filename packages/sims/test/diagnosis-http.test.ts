import type { UeDiagnosis, UeRefusal } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  driverPlugin,
  eventually,
  type FakeCore,
  type FakeHss,
  fakeCore,
  fakeHss,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

interface Told {
  readonly verdict: string
  readonly checks: readonly {
    readonly name: string
    readonly status: string
    readonly detail: string
    readonly advice: string | null
  }[]
}

const http = suite('sims/diagnosis-http')
const KI = '465b5ce8b199b49faa5f0a2ee238a6bc'
const imsi = (number: number): string => `99999${String(number).padStart(10, '0')}`
const parsed = (number: number) => parseImsi(imsi(number))!
const hashOf = (number: number): string => imsiHash(parsed(number))

let bed: Testbed
let hss: FakeHss
let core: FakeCore
let radios: number | undefined = 1
let services: ReadonlyMap<string, 'up' | 'down'> = new Map([['mme', 'up']])
let problems: ReadonlyMap<string, string> = new Map()
let phone: UeDiagnosis = { state: undefined, attempts: [], logProblem: undefined }

http.before(async () => {
  const { startTestbed } = await loadTestbed()
  hss = fakeHss()
  core = fakeCore()
  core.observe = async () => ({
    configSha256: undefined,
    services,
    problems,
    radios,
    attachedUes: core.attached.size,
  })
  core.diagnose = async () => phone
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', hss),
      driverPlugin('core', core),
    ],
  })
  const sims = [1, 2, 3].map((n) => ({ imsi: imsi(n), ki: KI, opc: KI }))
  bodyOf(await bed.request('POST', '/v1/sims/import', { body: { sims } }))
  // The HSS holds it a moment before its record says so.
  for (const number of [1, 2, 3])
    await eventually(async () => assert.is(statuses(await why(number)).provisioning, 'ok'))
})
http.after(() => bed.stop())

const why = async (number: number): Promise<Told> =>
  bodyOf(await bed.request('GET', `/v1/sims/${hashOf(number)}/diagnosis`))
const statuses = ({ checks }: Told): Readonly<Record<string, string>> =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]))
const checkIn = ({ checks }: Told, name: string): Told['checks'][number] =>
  checks.find((check) => check.name === name)!

http('finds nothing wrong with a phone that never tried, and sends its owner to look at it', async () => {
  const told = await why(1)
  assert.equal(statuses(told), {
    state: 'ok',
    provisioning: 'ok',
    subscriber: 'ok',
    network: 'ok',
    core: 'ok',
    radio: 'ok',
    attached: 'warning',
    attempts: 'warning',
    clock: 'ok',
  })
  assert.match(told.verdict, /^nothing here keeps it off; the core has not heard of this phone/)
  assert.match(checkIn(told, 'attempts').advice ?? '', /flight mode.*999 99/)
})

http('says why the core refused it, and what to do about each cause', async () => {
  const causes = {
    wrong_keys: /svc sim export i-\d{8}-/,
    wrong_apn: /internet, ims/,
    wrong_area: /tac: here 7/,
    wrong_network: /999-99/,
    unknown_subscriber: /hss\.\*/,
    out_of_step: /off and on/,
    unanswered: /comes back by itself/,
    not_allowed: /restrictions/,
    other: /TS 24\.301/,
  } as const
  for (const [refusal, advice] of Object.entries(causes)) {
    phone = {
      state: 'exception',
      // The keys are those of the type.
      attempts: [
        { refusal: refusal as keyof typeof causes, detail: 'words', at: '11/20 12:00:00', isCertain: true },
      ],
      logProblem: undefined,
    }
    const told = await why(1)
    assert.is(told.verdict, "attempts: refused: words, 11/20 12:00:00 by the core's clock")
    assert.match(checkIn(told, 'attempts').advice ?? '', advice, refusal)
    assert.not.match(JSON.stringify(told), imsi(1))
  }
  phone = { state: undefined, attempts: undefined, logProblem: 'mme: its log is not known' }
  assert.is(statuses(await why(1)).attempts, 'unknown')
  phone = { state: undefined, attempts: [], logProblem: undefined }
})

http('names the core and the radio that are not there', async () => {
  radios = 0
  services = new Map([['mme', 'down']])
  const told = await why(1)
  assert.equal([statuses(told).core, statuses(told).radio], ['failed', 'failed'])
  assert.is(told.verdict, 'core: down: mme')
  radios = undefined
  services = new Map()
  assert.equal([statuses(await why(1)).core, statuses(await why(1)).radio], ['unknown', 'unknown'])
  radios = 1
  services = new Map([['mme', 'up']])
})

http('names a function that answers and does not do its work', async () => {
  problems = new Map([['smf', 'it has no PFCP association with the UPF']])
  const told = await why(1)
  assert.is(told.verdict, 'core: not at work: smf: it has no PFCP association with the UPF')
  assert.is(checkIn(told, 'attempts').advice, null, 'nobody is sent to look at the phone')
  problems = new Map()
})

http('notices a subscriber that somebody took out of the HSS, blocked or changed', async () => {
  const held = hss.held.get(parsed(2))!
  hss.held.delete(parsed(2))
  const gone = checkIn(await why(2), 'subscriber')
  assert.equal([gone.status, gone.detail], ['failed', 'the subscriber was missing in the HSS'])
  hss.held.set(parsed(2), { ...held, isBlocked: true })
  assert.is(checkIn(await why(2), 'subscriber').status, 'failed')
  hss.held.set(parsed(2), held)
  assert.is(checkIn(await why(2), 'subscriber').status, 'ok')
})

http('begins with the SIM itself: suspended, and revoked', async () => {
  bodyOf(await bed.request('POST', `/v1/sims/${hashOf(3)}/suspend`, { body: {} }))
  const asItShould = { refusal: 'unanswered', detail: 'words', at: undefined, isCertain: true } as const
  phone = { state: 'exception', attempts: [asItShould], logProblem: undefined }
  const suspended = await why(3)
  assert.equal(
    suspended.checks.flatMap(({ name, advice }) => (advice === null ? [] : [name])),
    ['state'],
  )
  assert.is(statuses(suspended).attempts, 'warning')
  assert.is(suspended.verdict, 'state: suspended by operator')
  assert.match(checkIn(suspended, 'state').advice ?? '', new RegExp(`svc sim resume ${hashOf(3)}`))
  bodyOf(await bed.request('POST', `/v1/sims/${hashOf(3)}/revoke`, { body: {} }))
  const revoked = await why(3)
  assert.match(revoked.verdict, /^state: revoked/)
  assert.equal(
    revoked.checks.flatMap(({ name, advice }) => (advice === null ? [] : [name])),
    ['state'],
  )
  phone = { state: undefined, attempts: [], logProblem: undefined }
})

http('says that a phone is on, and knows no SIM that is not there', async () => {
  core.attached.add(parsed(1))
  await eventually(async () => assert.is((await why(1)).verdict, 'its phone is on the network'))
  assert.is(codeOf(await bed.request('GET', '/v1/sims/000000000000/diagnosis'), 404), 'sim_not_found')
})

http('believes a refusal that is newer than the list, when the list cannot know of it', async () => {
  const refusedAs = (refusal: UeRefusal, isCertain = true): void => {
    const attempt = { refusal, detail: 'words', at: '11/28 09:55:28', isCertain }
    phone = { state: 'registered', attempts: [attempt], logProblem: undefined }
  }
  // As the MME does: a card with other keys came under its identity, and the phone stays registered.
  refusedAs('wrong_keys')
  for (const isListed of [true, false]) {
    if (!isListed) core.attached.delete(parsed(1))
    await eventually(async () => {
      const told = await why(1)
      assert.match(told.verdict, /^attempts: refused: words, 11\/28 09:55:28/)
      assert.equal([statuses(told).attached, statuses(told).attempts], ['unknown', 'failed'])
      assert.match(checkIn(told, 'attached').detail, /from before its last attempt/)
    })
  }
  core.attached.add(parsed(1))
  // Another connection was refused, or perhaps another phone: it is on all the same, and hears of that.
  for (const [refusal, isCertain] of [
    ['wrong_apn', true],
    ['wrong_keys', false],
  ] as const) {
    refusedAs(refusal, isCertain)
    await eventually(async () => {
      const told = await why(1)
      assert.is(told.verdict, 'its phone is on the network')
      assert.equal([statuses(told).attached, statuses(told).attempts], ['ok', 'warning'])
      assert.match(checkIn(told, 'attempts').detail, /^refused: words/)
    })
  }
  phone = { state: undefined, attempts: [], logProblem: undefined }
})

http('says what it could not find out when HSS and core do not answer', async () => {
  hss.isDown = true
  core.diagnose = async () => {
    throw new Error('the core does not answer')
  }
  const told = await why(2)
  assert.is(statuses(told).subscriber, 'unknown')
  assert.is(statuses(told).attempts, 'unknown')
  assert.match(checkIn(told, 'attempts').detail, /the core does not answer/)
})

http.run()
