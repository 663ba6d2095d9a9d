import { isServiceError, type Vault } from '@steeple/contracts'
import { assert, fakeClock, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import {
  type Assertion,
  creationOptions,
  isCopied,
  judgeAssertion,
  madePasskey,
  requestOptions,
} from '../src/passkeys/ceremonies.ts'
import { CHALLENGE_LIFE_MS, createChallenges } from '../src/passkeys/challenge.ts'
import { disablePasskey, PASSKEYS } from '../src/passkeys/passkey-store.ts'
import { cbor, type Device, device, type Misbehaviour, type SignedJson } from './authenticator-device.ts'
import { fakeVault } from './helpers.ts'

const ceremonies = suite('access/passkey-ceremonies')
const USER = { id: '11111111-2222-4333-8444-000000000001', name: 'zoe' }
const PARTY = { id: 'box.local', origin: 'https://box.local:8443' }

/** A store, a registered device, and a way to log in with it. */
async function registered(counts = true, vault: Vault = fakeVault()) {
  const db = memoryDb(MIGRATIONS)
  const clock = fakeClock(1_000_000)
  const challenges = createChallenges(vault, clock)
  const key = device(USER.id, counts)
  const made = await register(key)
  const row = {
    ...made,
    user_id: USER.id,
    rp_id: PARTY.id,
    label: 'phone',
    created_at_ms: clock.nowMs(),
    last_used_at_ms: null,
    disabled_at_ms: null,
  }
  await db.write((tx) => PASSKEYS.insertNew(tx, row))
  const asked = async () =>
    requestOptions(PARTY, challenges.draw({ purpose: 'login', party: PARTY, userId: '' }))
  const judge = (response: SignedJson, party = PARTY): Promise<Assertion> =>
    judgeAssertion({ reader: db, clock, challenges }, party, response)
  const logIn = async (otherwise: Misbehaviour = {}): Promise<Assertion> =>
    judge(key.get(await asked(), PARTY.origin, otherwise))
  const use = async (assertion: Assertion): Promise<boolean> =>
    assertion.kind !== 'refused' && db.write((tx) => assertion.use(tx))
  return { db, clock, challenges, key, row, asked, judge, logIn, use }
}

async function register(key: Device, otherwise: Misbehaviour = {}, origin = PARTY.origin) {
  const challenges = createChallenges(fakeVault(), fakeClock())
  const options = await creationOptions(
    PARTY,
    USER,
    challenges.draw({ purpose: 'register', party: PARTY, userId: USER.id }),
    [],
  )
  return madePasskey(key.create(options, origin, otherwise), options.challenge, PARTY)
}

/** What a browser says of a page that stands within another one. */
const FRAMES = [{ crossOrigin: true }, { crossOrigin: 'true' }, { topOrigin: 'https://evil.example' }]

const whyRefused = (assertion: Assertion): string =>
  assertion.kind === 'refused' ? assertion.reason : assertion.kind

ceremonies('asks for a passkey that the browser finds by itself and that asks who is there', async () => {
  const options = await creationOptions(PARTY, USER, new Uint8Array(32), [])
  assert.is(options.rp.id, 'box.local')
  assert.is(options.attestation, 'none')
  assert.is(options.authenticatorSelection?.residentKey, 'required')
  assert.is(options.authenticatorSelection?.userVerification, 'required')
  assert.is(Buffer.from(options.user.id, 'base64url').toString(), USER.id)
  const request = await requestOptions(PARTY, new Uint8Array(32))
  assert.equal(
    [request.rpId, request.userVerification, request.allowCredentials],
    ['box.local', 'required', undefined],
  )
})

ceremonies('lets a registered device in, and counts', async () => {
  const { db, key, logIn, use } = await registered()
  for (const counter of [2, 3]) {
    const assertion = await logIn()
    assert.is(assertion.kind, 'good')
    assert.ok(await use(assertion))
    assert.equal((await PASSKEYS.find(db, { id: key.id }))?.counter, counter)
  }
})

ceremonies('lets a device in that does not count', async () => {
  const { logIn, use } = await registered(false)
  for (let time = 0; time < 2; time += 1) assert.ok(await use(await logIn()))
})

ceremonies(
  'takes a count that does not grow for a copy, when the signature holds and only then',
  async () => {
    const { logIn, use, key, asked, judge } = await registered()
    assert.ok(await use(await logIn({ counter: 10 })))
    for (const counter of [10, 9, 0]) assert.is((await logIn({ counter })).kind, 'copied', `${counter}`)
    const forged = key.get(await asked(), PARTY.origin, { counter: 1 })
    forged.response.signature = Buffer.from(forged.response.signature, 'base64url')
      .fill(0, 20)
      .toString('base64url')
    assert.is(whyRefused(await judge(forged)), 'signature')
    assert.equal([isCopied(0, 0), isCopied(0, 1), isCopied(5, 5), isCopied(5, 0)], [false, false, true, true])
  },
)

ceremonies('takes a challenge once: what is repeated is refused, and is no copy', async () => {
  const { key, asked, judge, use } = await registered()
  const response = key.get(await asked(), PARTY.origin)
  const [first, second] = [await judge(response), await judge(response)]
  assert.equal([first.kind, second.kind], ['good', 'good'])
  assert.equal([await use(first), await use(second)], [true, false])
  assert.is(whyRefused(await judge(response)), 'used')
})

ceremonies('refuses whom nobody verified, another host name, another origin, an old challenge', async () => {
  const { clock, key, asked, judge, logIn, challenges } = await registered()
  assert.is(whyRefused(await logIn({ isUnverified: true })), 'signature')
  assert.is(whyRefused(await logIn({ rpId: 'evil.example' })), 'signature')
  assert.is(whyRefused(await judge(key.get(await asked(), 'https://evil.example'))), 'signature')
  const other = { id: 'other.local', origin: 'https://other.local' }
  assert.is(whyRefused(await judge(key.get(await asked(), PARTY.origin), other)), 'origin')
  const foreign = challenges.draw({ purpose: 'login', party: other, userId: '' })
  const options = await requestOptions(other, foreign)
  assert.is(whyRefused(await judge(key.get(options, other.origin), other)), 'other')
  for (const frame of FRAMES) assert.is(whyRefused(await logIn({ frame })), 'signature')
  const late = key.get(await asked(), PARTY.origin)
  await clock.advance(CHALLENGE_LIFE_MS)
  assert.is(whyRefused(await judge(late)), 'challenge')
})

ceremonies('refuses a challenge that was not drawn here, or for a registration', async () => {
  const { key, judge, challenges } = await registered()
  const invented = { challenge: Buffer.alloc(200, 7).toString('base64url'), rpId: PARTY.id }
  assert.is(whyRefused(await judge(key.get(invented, PARTY.origin))), 'challenge')
  const drawn = challenges.draw({ purpose: 'register', party: PARTY, userId: USER.id })
  const challenge = Buffer.from(drawn).toString('base64url')
  assert.is(whyRefused(await judge(key.get({ challenge, rpId: PARTY.id }, PARTY.origin))), 'challenge')
  const broken = key.get(invented, PARTY.origin)
  broken.response.clientDataJSON = Buffer.from('no json').toString('base64url')
  assert.is(whyRefused(await judge(broken)), 'challenge')
})

ceremonies('refuses a passkey that is disabled, removed, or of another user', async () => {
  const { db, clock, key, logIn, asked, judge } = await registered()
  const stolen = key.get(await asked(), PARTY.origin)
  stolen.response.userHandle = Buffer.from('somebody else').toString('base64url')
  assert.is(whyRefused(await judge(stolen)), 'other')
  assert.ok(await db.write((tx) => disablePasskey(tx, key.id, clock.nowMs())))
  assert.is(whyRefused(await logIn()), 'disabled')
  assert.not.ok(await db.write((tx) => disablePasskey(tx, key.id, clock.nowMs())))
  assert.ok(await db.write((tx) => PASSKEYS.remove(tx, { id: key.id })))
  assert.is(whyRefused(await logIn()), 'unknown')
})

ceremonies('registers nothing unverified, of another page, or with a maker statement', async () => {
  const refused = async (otherwise: Misbehaviour, origin?: string): Promise<string> =>
    register(device(USER.id), otherwise, origin).then(
      () => 'taken',
      (error: unknown) => (isServiceError(error) ? `${error.code} ${error.message}` : String(error)),
    )
  assert.match(await refused({ isUnverified: true }), /^validation_failed .*verif/)
  assert.match(await refused({ rpId: 'evil.example' }), /^validation_failed/)
  assert.match(await refused({}, 'https://evil.example'), /^validation_failed .*origin/)
  for (const frame of FRAMES) assert.match(await refused({ frame }), /^validation_failed .*another origin/)
  const statement = new Map<string, unknown>([
    ['fmt', 'packed'],
    [
      'attStmt',
      new Map<string, unknown>([
        ['alg', -7],
        ['sig', Buffer.alloc(70)],
        ['x5c', [Buffer.alloc(9)]],
      ]),
    ],
    ['authData', Buffer.alloc(37)],
  ])
  assert.match(await refused({ attestation: cbor(statement) }), /^validation_failed .*attestation \(packed\)/)
  assert.match(await refused({ attestation: Buffer.alloc(40, 0xff) }), /^validation_failed/)
})

ceremonies.run()
