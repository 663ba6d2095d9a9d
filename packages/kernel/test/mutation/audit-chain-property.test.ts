import { createHash, createSecretKey } from 'node:crypto'
import { failure, onEachStore } from '@steeple/store/testing'
import { assert, characterAt, LAST_CHARACTER, placeOfCharacter } from '@steeple/testkit'
import fc from 'fast-check'
import { canonicalJson, createAuditChain } from '../../src/audit/audit-chain.ts'
import { ANN, making, mutationBench } from './mutation-fixture.ts'

const text = fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter), maxLength: 12 })
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('run'),
      target: text,
      detail: fc.dictionary(text, fc.jsonValue()),
      fails: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune'), ageMs: fc.nat(5_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.nat(3_000) }) },
)

onEachStore('kernel/mutation/audit-chain', (test, store) => {
  test('stays whole under any mix of good and failing mutations, prunes and texts', async () => {
    await using box = await store()
    const bench = await mutationBench(box)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await Promise.all(
          steps.map(async (each) => {
            if ('ms' in each) return box.clock.advance(each.ms)
            if ('ageMs' in each) return bench.audit.prune(box.clock.nowMs() - each.ageMs)
            return failure(() =>
              bench.mutations.run(
                making('x', {
                  target: each.target,
                  requestId: each.target,
                  work: async (tx) => {
                    tx.audit({ detail: each.detail })
                    if (each.fails) throw new Error('no')
                    return {}
                  },
                }),
              ),
            )
          }),
        )
        assert.is((await bench.audit.verify()).ok, true)
        await bench.audit.list({}, 50, undefined)
      }),
      { numRuns: 40 },
    )
  })

  test('gives the place of an undone entry to the next one of the same commit', async () => {
    await using box = await store()
    const bench = await mutationBench(box)
    const chain = createAuditChain(createSecretKey(Buffer.alloc(32, 7)))
    const entry = {
      atMs: 1,
      principal: ANN,
      action: 'a',
      target: 't',
      outcome: 'ok',
      requestId: undefined,
      detail: {},
    } as const
    const undone = failure(() =>
      bench.db.transact(async (tx) => {
        await chain.append(tx, entry)
        throw new Error('no')
      }),
    )
    await bench.db.transact((tx) => chain.append(tx, entry))
    assert.is((await undone)?.message, 'no')
    assert.equal(await bench.audit.verify(), { ok: true, checked: 1 })
  })

  test('can be checked by others from what the trail lists', async () => {
    await using box = await store()
    const bench = await mutationBench(box)
    await bench.mutations.run(making('a', { requestId: 'r-1' }))
    await bench.mutations.run(making('\u00fc"\n', {}))
    for (const entry of await bench.audit.list({}, 10, undefined)) {
      const { seq, atMs, principal, action, target, outcome, requestId, detail, prevHash } = entry
      const content = {
        seq,
        at_ms: atMs,
        principal,
        action,
        target,
        outcome,
        request_id: requestId ?? null,
        detail,
        prev_hash: prevHash,
      }
      assert.is(createHash('sha256').update(canonicalJson(content)).digest('hex'), entry.hash)
    }
  })
}).run()
