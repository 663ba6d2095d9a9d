import type { ImsiHash, UeRefusal } from '@steeple/contracts'
import { assert, suite, testSeed } from '@steeple/testkit'
import fc from 'fast-check'
import { type Check, type Diagnosis, type Facts, type Found, judge } from '../src/diagnosis/diagnose.ts'

/** Whatever was found out, in whatever order it was read, no two sentences of a diagnosis exclude each other. */
const judged = suite('sims/judge')

const REFUSALS: readonly UeRefusal[] = [
  'unknown_subscriber',
  'wrong_keys',
  'out_of_step',
  'wrong_apn',
  'wrong_area',
  'wrong_network',
  'not_allowed',
  'unanswered',
  'other',
]

const check = (name: string) =>
  fc.constantFrom<Found['status'][]>('ok', 'warning', 'failed', 'unknown').map((status): Found => {
    return {
      status,
      detail: `${name} is ${status}`,
      advice: status === 'failed' ? `mend ${name}` : null,
    }
  })
const attempt = fc.record({
  refusal: fc.constantFrom(...REFUSALS),
  detail: fc.constant('words'),
  at: fc.constantFrom(undefined, '12:00'),
  isCertain: fc.boolean(),
})
const phone = fc.record({
  state: fc.constantFrom(
    undefined,
    'registered',
    'registered, idle',
    'not registered',
    'exception',
    'de-registered',
  ),
  attempts: fc.option(fc.array(attempt, { maxLength: 2 }), { nil: undefined }),
  logProblem: fc.constantFrom(undefined, 'no log'),
  refusedRadio: fc.constantFrom(undefined, 'wrong area'),
})
const service = fc.constantFrom('up' as const, 'down' as const, 'unknown' as const)
const seen = fc.record({
  configSha256: fc.constant(undefined),
  services: fc.option(service).map((state) => new Map(state === null ? [] : [['mme', state]])),
  radios: fc.constantFrom(undefined, 0, 1, 2),
  otherNetworks: fc.constantFrom(undefined, ['999-99']),
  attachedUes: fc.constant(undefined),
})
const facts: fc.Arbitrary<Facts> = fc.record({
  row: fc.record({
    hash: fc.constant('0123456789ab' as ImsiHash),
    state: fc.constantFrom(
      'issued' as const,
      'in-use' as const,
      'suspended' as const,
      'expired' as const,
      'revoked' as const,
    ),
    suspend_reason: fc.constantFrom(null, 'quota' as const, 'operator' as const),
    expires_at_ms: fc.constant(0),
    batch_id: fc.constantFrom(null, 'i-1'),
    apns: fc.constantFrom('["internet"]', '["elsewhere"]'),
    plmn: fc.constantFrom('999-70', '262-98'),
  }),
  settings: fc.constant({ plmn: { mcc: '999', mnc: '70' }, tac: 7 } as Facts['settings']),
  apns: fc.constant(['internet']),
  doubt: fc.constantFrom(undefined, 'it went back by a day'),
  provisioning: check('provisioning'),
  subscriber: check('subscriber'),
  answers: fc.option(
    fc.record({
      seen: fc.option(seen, { nil: undefined }),
      phone: fc.option(phone, { nil: undefined }),
      problem: fc.constantFrom(undefined, 'it does not answer'),
    }),
    { nil: undefined },
  ),
  attachState: fc.record({
    attached: fc.constantFrom(true, false, null),
    lastSeenAtMs: fc.constantFrom(null, 5),
  }),
  internet: fc.constantFrom(
    undefined,
    { status: 'ok' as const, detail: 'answers' },
    { status: 'down' as const, detail: 'no route' },
  ),
})

/** A pair of sentences that exclude each other, when both are there. */
type Contradiction = (told: Diagnosis, of: Facts) => boolean

const at = ({ checks }: Diagnosis, name: string): Check => {
  const found = checks.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no check is called ${name}`)
  return found
}
const isOff = ({ row }: Facts): boolean => row.state !== 'issued' && row.state !== 'in-use'
const LOOK_AT_IT = /look at the phone/

const CONTRADICTIONS: Readonly<Record<string, Contradiction>> = {
  'nothing keeps it off, beside a check that failed': ({ verdict, checks }) =>
    verdict.startsWith('nothing') && checks.some(({ status }) => status === 'failed'),
  'nothing here keeps it off, beside what is not known': ({ verdict, checks }) =>
    verdict.startsWith('nothing here') && checks.some(({ status }) => status === 'unknown'),
  'it is on, and the verdict is why it is not': ({ verdict, checks }) =>
    !verdict.startsWith('its phone is on') &&
    checks.some(({ name, status }) => name === 'attached' && status === 'ok'),
  'the verdict has it on, and a check has it off': (told) =>
    told.verdict.startsWith('its phone is on') && /is not on the network/.test(at(told, 'attached').detail),
  'it is on, and no base station is there': (told) =>
    at(told, 'attached').status === 'ok' && at(told, 'radio').status === 'failed',
  'it is on, and its last attempt failed': (told) =>
    at(told, 'attached').status === 'ok' && at(told, 'attempts').status === 'failed',
  'the core has it as registered, and it is not on': (told) =>
    /the core has it as registered/.test(at(told, 'attempts').detail) &&
    at(told, 'attached').status === 'warning',
  'it was never on, and it was seen': (told, { attachState }) =>
    /never on/.test(at(told, 'state').detail) &&
    (attachState.attached === true || attachState.lastSeenAtMs !== null),
  'it is to be off, and its phone is to be looked at': (told, of) =>
    isOff(of) && at(told, 'attempts').advice !== null,
  'something else keeps it off, and its phone is to be looked at': (told) =>
    told.checks.some(({ status }) => status === 'failed') &&
    LOOK_AT_IT.test(at(told, 'attempts').advice ?? ''),
  'the HSS holds it, and it has no service there': (told) =>
    at(told, 'subscriber').status === 'ok' &&
    /has no service in the HSS/.test(at(told, 'attempts').advice ?? ''),
  'the HSS does not hold it, and the core looks elsewhere': (told) =>
    at(told, 'subscriber').status === 'failed' &&
    /looks for it elsewhere/.test(at(told, 'attempts').advice ?? ''),
  'something failed, and there is nothing to do': ({ checks }) =>
    checks.some(({ status, advice }) => status === 'failed' && advice === null),
  'the first that failed is not the cause': ({ verdict, checks }) => {
    const first = checks.find(({ status }) => status === 'failed')
    return first !== undefined && !verdict.endsWith(`${first.name}: ${first.detail}`)
  },
  'there is no core, and it says something': (told, { answers }) =>
    answers === undefined &&
    at(told, 'core').status === 'unknown' &&
    /^the core /.test(at(told, 'radio').detail),
}

for (const [what, isSaid] of Object.entries(CONTRADICTIONS))
  judged(`never says: ${what}`, () => {
    fc.assert(
      fc.property(facts, (of) => {
        const told = judge(of)
        assert.not.ok(isSaid(told, of), JSON.stringify(told, undefined, 1))
      }),
      { numRuns: 2_000, seed: testSeed() },
    )
  })

judged.run()
