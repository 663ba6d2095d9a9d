import type { ClosedItem, Plugin, Principal } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { createLinks } from '../src/links/links.ts'
import { isChallengeUsed, PASSKEYS, useChallenge } from '../src/passkeys/passkey-store.ts'
import { allInvitations, endInvitation, findInvitation, INVITATIONS } from '../src/people/invitation-store.ts'
import { drawSecondFactor, proofOf } from '../src/people/second-factor.ts'
import { endWhatWasOpen } from '../src/plugin.ts'
import { TOKENS } from '../src/token-store.ts'
import { storedToken, tokenDb } from './helpers.ts'
import { codeAt, testVault } from './people-helpers.ts'

const restored = suite('access/restored')
type At = Parameters<NonNullable<Plugin['restored']>>[1]

const MAKER: Principal = { kind: 'admin-env', id: 'a', name: 'a', roles: new Set(['admin']) }
const KEY = { user_id: 'u', rp_id: 'box', label: '', public_key: '', transports: '[]', created_at_ms: 0 }

/** A store as a backup holds it, or as it is now. */
async function store(passkeyCount: number, invitations: readonly string[]) {
  const db = tokenDb()
  await db.write(async (tx) => {
    for (const id of invitations)
      await INVITATIONS.insert(tx, {
        ...{ id, token_sha256: id, name: id, roles: '[]', created_at_ms: 0, expires_at_ms: 9_000_000 },
        ...{ created_by: '{}', parent: null, ended_at_ms: 0 },
      })
    const uses = { counter: passkeyCount, last_used_at_ms: null, disabled_at_ms: null }
    await PASSKEYS.insertNew(tx, { ...KEY, id: 'k', ...uses })
  })
  return db
}

restored('what may have been used since the backup is closed, or known to be used', async () => {
  const clock = fakeClock(3_000_000)
  const [coming, now] = [await store(4, ['used', 'open']), await store(9, ['open'])]
  const api = await storedToken(coming, { id: 'program' })
  await storedToken(coming, { id: 'burnt', kind: 'bootstrap', expires_at_ms: 9_000_000 })
  await storedToken(coming, { id: 'waits', kind: 'bootstrap', expires_at_ms: 9_000_000 })
  await storedToken(now, { id: 'burnt', kind: 'bootstrap', used_at_ms: 1, node_id: 'n' })
  await storedToken(now, { id: 'waits', kind: 'bootstrap' })
  await storedToken(coming, { id: 'opened', name: 'console', parent: 'token:program' })
  const links = createLinks(clock, '')
  const link = links.draw(MAKER)
  await coming.write(link.store)
  const closed: ClosedItem[] = []
  const at: At = {
    ...{ takenAtMs: 0, nowMs: clock.nowMs(), close: (item) => void closed.push(item) },
    present: { db: now, reseal: () => undefined },
  }
  await coming.write((tx) => endWhatWasOpen(tx, at))
  assert.equal(
    closed.map(({ kind, id }) => `${kind} ${id}`),
    ['invitation open', 'bootstrap_token waits'],
  )
  assert.equal(
    (await allInvitations(coming)).map(({ id }) => id),
    ['open'],
  )
  assert.equal(
    [await TOKENS.find(coming, { id: 'burnt' }), await TOKENS.find(coming, { id: 'opened' })],
    [undefined, undefined],
  )
  assert.ok(await TOKENS.find(coming, { id: api.row.id }))
  assert.is(await links.find(coming, link.token), undefined)
  // A copy of the key that has counted to 7 is found out.
  assert.is((await PASSKEYS.find(coming, { id: 'k' }))?.counter, 9)
  coming.close()
  now.close()
})

restored(
  'what was invited and ended since the backup is known to have ended: its hash may come again',
  async () => {
    const [coming, now] = [await store(4, []), await store(4, ['spent'])]
    await now.write((tx) => endInvitation(tx, 'spent', 2_000_000))
    const at: At = {
      takenAtMs: 0,
      nowMs: 3_000_000,
      close: () => undefined,
      present: { db: now, reseal: () => undefined },
    }
    await coming.write((tx) => endWhatWasOpen(tx, at))
    assert.is((await findInvitation(coming, 'spent'))?.ended_at_ms, 2_000_000)
    coming.close()
    now.close()
  },
)

restored('without the store before everything is closed', async () => {
  const coming = await store(4, ['used'])
  await storedToken(coming, { id: 'burnt', kind: 'bootstrap', expires_at_ms: 9_000_000 })
  const closed: string[] = []
  const close: At['close'] = ({ kind, id }) => void closed.push(`${kind} ${id}`)
  await coming.write((tx) => endWhatWasOpen(tx, { takenAtMs: 0, nowMs: 3_000_000, close }))
  assert.equal(closed, ['invitation used', 'bootstrap_token burnt'])
  coming.close()
})

restored('codes and challenges that are older than the restore open nothing', async () => {
  const clock = fakeClock(3_000_000_000)
  const [coming, vault] = [tokenDb(), testVault()]
  const factor = drawSecondFactor(vault, 'u', 'box', 'zoe')
  await coming.write((tx) => factor.store(tx, clock.nowMs()))
  const closed = new Set<string>()
  const items = { among: async () => closed }
  const isGood = async (code: string): Promise<boolean> =>
    (await proofOf(coming, vault, 'u', code, { nowMs: clock.nowMs(), closed: items })) !== undefined
  const [recovery = ''] = factor.shown.recovery_codes
  const seen = [0, 30_000].map((aheadMs) => codeAt(factor.shown.totp_uri, clock.nowMs() + aheadMs))
  assert.ok((await isGood(recovery)) && (await isGood(seen[0] ?? '')))
  const expiresAtMs = clock.nowMs() + 60_000
  const close: At['close'] = ({ id }) => void closed.add(id)
  await coming.write((tx) => endWhatWasOpen(tx, { takenAtMs: 0, nowMs: clock.nowMs(), close }))
  for (const code of [recovery, ...seen]) assert.not.ok(await isGood(code))
  assert.ok(await isChallengeUsed(coming, 'of before', expiresAtMs))
  await clock.advance(60_000)
  assert.ok(await isGood(codeAt(factor.shown.totp_uri, clock.nowMs())))
  assert.not.ok(await isChallengeUsed(coming, 'of after', clock.nowMs() + 300_000))
  await coming.write((tx) => useChallenge(tx, 'of after', clock.nowMs() + 300_000))
  assert.ok(await isChallengeUsed(coming, 'of after', clock.nowMs() + 300_000))
  // Somebody has let them be used again: each once.
  closed.clear()
  const proof = await proofOf(coming, vault, 'u', recovery, { nowMs: clock.nowMs(), closed: items })
  assert.ok(await coming.write(async (tx) => proof?.claim(tx, clock.nowMs())))
  assert.not.ok(await isGood(recovery))
  coming.close()
})

restored.run()
