import { assert, suite } from '@steeple/testkit'
import { createEs9 } from '../src/es9/es9.ts'
import { KEYS, SESSIONS } from '../src/store/rows.ts'
import { type Fields, good, type Handset, handset } from './support/handset.ts'
import { ADDRESS, codeOf, type World, world } from './support/world.ts'

const pendingSessions = suite('esim-smdp/beginnings')
const LIFE_MS = 900_000

async function scene(work: (all: World) => Promise<void>): Promise<void> {
  await using all = await world()
  await work(all)
}

const rows = async ({ fake }: World): Promise<number> => (await SESSIONS.select(fake.context.db, '')).length

/** A session that was begun, and what its eUICC answers. */
async function begun(all: World, number: number): Promise<{ phone: Handset; answer: Fields }> {
  const { matchingId } = await all.issue(number)
  const phone = handset(all.euicc(number), ADDRESS)
  const first = await good(all, 'initiateAuthentication', phone.initiate())
  return { phone, answer: phone.authenticate(first, matchingId) }
}

pendingSessions('keeps nothing of sessions that no eUICC has claimed, so that none pushes a phone out', () =>
  scene(async (all) => {
    const { phone, answer } = await begun(all, 1)
    const request = handset(all.euicc(7), ADDRESS).initiate()
    const tids = new Set<string>()
    for (let at = 0; at < 3_000; at += 1) {
      const network = `198.51.${at % 100}.${at % 250}`
      const { body } = await all.call('initiateAuthentication', request, network)
      tids.add((body as Fields).transactionId ?? '')
    }
    assert.is(tids.size, 3_000)
    assert.is(await rows(all), 0)
    const offer = await good(all, 'authenticateClient', answer)
    assert.is(await rows(all), 1)
    await good(all, 'getBoundProfilePackage', phone.prepare(offer))
  }),
)

pendingSessions('goes on after a restart, and on another instance', () =>
  scene(async (all) => {
    const { answer } = await begun(all, 1)
    const other = createEs9(all.parts)
    const { body } = await other.call('authenticateClient', Buffer.from(JSON.stringify(answer)), '')
    assert.is(codeOf(body), 'ok')
    // Claimed there: it goes one step forward once.
    assert.is((await all.call('authenticateClient', answer)).code, '8.10.1/3.9')
  }),
)

pendingSessions('ends when nobody claims it for so long, and not because the clock is put back', () =>
  scene(async (all) => {
    const [late, early, back] = [await begun(all, 1), await begun(all, 2), await begun(all, 3)]
    const startMs = all.clock.nowMs()
    all.clock.jump(startMs + LIFE_MS - 1)
    await good(all, 'authenticateClient', early.answer)
    all.clock.jump(startMs + LIFE_MS)
    assert.is((await all.call('authenticateClient', late.answer)).code, '8.10.1/3.9')
    all.clock.jump(startMs - 10 * LIFE_MS)
    await good(all, 'authenticateClient', back.answer)
  }),
)

pendingSessions('knows no transaction id of somebody else', () =>
  scene(async (all) => {
    const { answer } = await begun(all, 1)
    const ids = ['', '00', '0'.repeat(32), 'F'.repeat(32), `${answer.transactionId}00`, 'Z'.repeat(32)]
    for (const transactionId of ids)
      assert.is((await all.call('authenticateClient', { ...answer, transactionId })).code, '8.10.1/3.9')
    const octets = Buffer.from(answer.transactionId ?? '', 'hex')
    for (let bit = 0; bit < 128; bit += 1) {
      const changed = Uint8Array.from(octets)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const transactionId = Buffer.from(changed).toString('hex')
      assert.is((await all.call('authenticateClient', { ...answer, transactionId })).code, '8.10.1/3.9')
    }
    const transactionId = answer.transactionId?.toLowerCase() ?? ''
    assert.is((await all.call('authenticateClient', { ...answer, transactionId })).code, 'ok')
  }),
)

pendingSessions('ends with the certificates that it began with, unless they were taken back', () =>
  scene(async (all) => {
    const [first, second] = [await begun(all, 1), await begun(all, 2)]
    // A newer set under the same CI takes its place.
    all.identities.splice(0, 1, { ...all.pki.identity, id: 'newer' })
    await good(all, 'authenticateClient', first.answer)
    Object.assign(all.parts.certs, { identitiesHeld: () => [] })
    assert.is((await all.call('authenticateClient', second.answer)).code, '8.10.1/3.9')
  }),
)

pendingSessions('draws one key for all instances, which is kept sealed', () =>
  scene(async (all) => {
    const instances = Array.from({ length: 4 }, () => createEs9(all.parts))
    const phone = handset(all.euicc(1), ADDRESS)
    const octets = Buffer.from(JSON.stringify(phone.initiate()))
    const begun = await Promise.all(instances.map((es9) => es9.call('initiateAuthentication', octets, '')))
    const kept = await KEYS.select(all.fake.context.db, '')
    assert.equal(
      kept.map(({ id }) => id),
      ['beginnings'],
    )
    for (const { body } of begun) {
      // An error of the eUICC is told as such where the session is known.
      const answer = { transactionId: (body as Fields).transactionId, authenticateServerResponse: '' }
      assert.is((await all.call('authenticateClient', answer)).code, '8.1/6.1')
    }
  }),
)

pendingSessions.run()
