import { assert, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type CodeEvent, move, type Terms } from '../src/states/move.ts'
import type { CodeRow, CodeState } from '../src/store/rows.ts'

const moves = suite('esim-smdp/move')
const NOW_MS = Date.UTC(2026, 5, 15)
const STATES: readonly CodeState[] = [
  ...(['allocated', 'confirmed', 'released', 'downloaded'] as const),
  ...(['installed', 'error', 'revoked', 'expired'] as const),
]
const TERMS: Terms = { nowMs: NOW_MS, canExpire: true, maxDownloads: 3, maxConfirmationAttempts: 2 }
const ROW: CodeRow = {
  token: 'a',
  hash: '00000000000a',
  state: 'released',
  matching_mac: new Uint8Array(1),
  matching_sealed: new Uint8Array(1),
  confirmation_sealed: null,
  iccid_mac: new Uint8Array(1),
  iccid_last4: '0001',
  eid_hash: null,
  eid_last4: null,
  smdp_address: 'smdp.example.com',
  single_use: 1,
  attempts: 0,
  confirmation_attempts: 0,
  downloads: 0,
  last_error: null,
  batch_id: null,
  created_at_ms: NOW_MS - 1_000,
  expires_at_ms: NOW_MS + 10_000,
  changed_at_ms: NOW_MS - 1_000,
}

const by = fc.constantFrom('e1', 'e2', 'e3').map((eid) => ({ eid, eidLast4: eid }))
const sim = fc.constantFrom(
  'deliverable' as const,
  'deliverable' as const,
  'expired' as const,
  'gone' as const,
)
const event: fc.Arbitrary<CodeEvent> = fc.oneof(
  fc
    .record({ kind: fc.constantFrom('attempt' as const, 'deliver' as const), who: by, sim })
    .map(({ kind, who, sim: standing }) => ({
      kind,
      ...who,
      sim: standing,
    })),
  fc
    .record({
      kind: fc.constantFrom(
        'installed' as const,
        'deleted' as const,
        'wrong_confirmation' as const,
        'ineligible' as const,
      ),
      who: by,
    })
    .map(({ kind, who }) => ({ kind, ...who })),
  fc
    .record({
      kind: fc.constantFrom('cancel' as const, 'install_failed' as const),
      who: by,
      reason: fc.nat(16),
    })
    .map(({ kind, who, reason }) => ({ kind, ...who, reason })),
  fc
    .constantFrom('confirm' as const, 'release' as const, 'expire' as const, 'revoke' as const)
    .map((kind) => ({ kind })),
)
/** Clocks that jump, in both directions, and are in doubt at times. */
const step = fc.record({ event, jumpMs: fc.integer({ min: -4_000, max: 6_000 }), canExpire: fc.boolean() })
const rows = fc
  .record({ state: fc.constantFrom(...STATES), single_use: fc.constantFrom(0, 1), bound: fc.boolean() })
  .map(
    ({ bound, ...rest }): CodeRow => ({ ...ROW, ...rest, ...(bound && { eid_hash: 'e1', eid_last4: 'e1' }) }),
  )

/** What is true of every move. */
function holds(before: CodeRow, row: CodeRow, event: CodeEvent, canExpire: boolean): void {
  assert.equal([row.token, row.hash], [before.token, before.hash])
  assert.ok(before.eid_hash === null || row.eid_hash === before.eid_hash)
  const isOthers = 'eid' in event && before.eid_hash !== null && before.eid_hash !== event.eid
  if (before.state === 'revoked' || isOthers) assert.is(row, before)
  assert.ok(row.attempts <= TERMS.maxDownloads)
  assert.ok(row.confirmation_attempts <= TERMS.maxConfirmationAttempts)
  assert.ok(canExpire || before.state === 'expired' || row.state !== 'expired')
}

moves('binds a code to one device for good, whatever happens in whatever order', () => {
  fc.assert(
    fc.property(rows, fc.array(step, { maxLength: 60 }), (first, steps) => {
      const got = new Set<string>(first.eid_hash === null ? [] : [first.eid_hash])
      let nowMs = NOW_MS
      let row = first
      for (const { event: each, jumpMs, canExpire } of steps) {
        nowMs += jumpMs
        const before = row
        const moved = move(row, each, { ...TERMS, nowMs, canExpire })
        row = moved.row
        if (each.kind === 'deliver' && moved.refusal === undefined) got.add(each.eid)
        assert.ok(got.size <= 1, 'it was delivered to two')
        holds(before, row, each, canExpire)
      }
    }),
    { numRuns: rounds(2_000) },
  )
})

moves('delivers only what is released or was downloaded, of a SIM that lives', () => {
  fc.assert(
    fc.property(rows, event, (row, each) => {
      const moved = move(row, each, TERMS)
      if (each.kind !== 'deliver' || moved.refusal !== undefined) return
      assert.ok(row.state === 'released' || row.state === 'downloaded')
      assert.is(each.sim, 'deliverable')
      assert.equal([moved.row.state, moved.row.eid_hash], ['downloaded', each.eid])
    }),
    { numRuns: rounds(2_000) },
  )
})

moves('does with each state what the table says', () => {
  const who = { eid: 'e1', eidLast4: 'e1' }
  const one = { ...who, sim: 'deliverable' as const }
  const result = (state: CodeState, each: CodeEvent, more: Partial<CodeRow> = {}): string => {
    const { row, refusal } = move({ ...ROW, state, ...more }, each, TERMS)
    return refusal === undefined ? row.state : `${row.state} ${refusal}`
  }
  const column = (each: CodeEvent, more?: Partial<CodeRow>) =>
    STATES.map((state) => result(state, each, more))
  assert.equal(column({ kind: 'attempt', ...one }), [
    ...['allocated not_released', 'confirmed not_released', 'released', 'downloaded'],
    ...['installed not_released', 'error not_released', 'revoked matching_id', 'expired order_expired'],
  ])
  assert.equal(column({ kind: 'installed', ...who }), [
    ...['allocated', 'confirmed', 'released', 'installed'],
    ...['installed', 'installed', 'revoked', 'installed'],
  ])
  assert.equal(column({ kind: 'deleted', ...who }, { single_use: 0 }), [
    ...['allocated', 'confirmed', 'released', 'released'],
    ...['released', 'error', 'revoked', 'expired'],
  ])
  const failure = (reason: number, downloads: number) =>
    result('downloaded', { kind: 'install_failed', reason, ...who }, { downloads })
  assert.equal(
    [failure(10, 1), failure(11, 1), failure(12, 1), failure(9, 1), failure(9, 2)],
    ['downloaded', 'downloaded', 'error', 'error', 'installed'],
  )
  const cancels = [0, 1, 2, 3, 4, 5, 127].map((reason) =>
    result('released', { kind: 'cancel', reason, ...who }),
  )
  assert.equal(cancels, ['error', 'released', 'released', 'error', 'error', 'error', 'error'])
  assert.is(result('released', { kind: 'attempt', ...one }, { attempts: 3 }), 'error too_many')
  assert.is(result('released', { kind: 'ineligible', ...who }), 'error not_eligible')
  assert.is(result('installed', { kind: 'ineligible', ...who }), 'installed')
  assert.is(result('released', { kind: 'expire' }), 'released')
  assert.is(result('downloaded', { kind: 'expire' }, { expires_at_ms: NOW_MS }), 'expired')
})

moves.run()
