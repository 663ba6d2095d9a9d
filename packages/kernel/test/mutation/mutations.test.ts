import { forbidden, type MutationTx, simExists } from '@steeple/contracts'
import { failure, onEachStore, TOY, toy } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import type { RateLimitedError } from '../../src/mutation/create-mutations.ts'
import { benched, making, mutationBench, TOKEN } from './mutation-fixture.ts'

const HOUR_MS = 3_600_000

onEachStore('kernel/mutation/mutations', (test, store) => {
  const onBench = benched(test, store)
  onBench('commits change, audit entry and event together and answers the reply', async (bench, box) => {
    const told: number[] = []
    bench.outbox.onCommit(() => told.push(1), new AbortController().signal)
    const { reply, rate } = await bench.mutations.run(making('a', { requestId: 'req-1' }))
    assert.equal(reply, { status: 201, body: { id: 'a' } })
    assert.is(rate, undefined)
    assert.equal(await TOY.find(bench.db, { id: 'a' }), toy('a'))
    const [entry] = await bench.audit.list({}, 10, undefined)
    const { hash, prevHash, ...content } = entry ?? { hash: '', prevHash: '' }
    assert.match(hash, /^[0-9a-f]{64}$/)
    assert.is(prevHash, '0'.repeat(64))
    assert.equal(content, {
      seq: 1,
      atMs: box.clock.nowMs(),
      principal: { kind: 'user', id: 'u-1', name: 'ann' },
      action: 'toy.make',
      target: 'a',
      outcome: 'ok',
      requestId: 'req-1',
      detail: {},
    })
    assert.equal(await bench.outbox.after(0, 10), [
      { id: 1, atMs: box.clock.nowMs(), type: 'toy.make', subject: 'a', data: {} },
    ])
    assert.is(told.length, 1)
  })

  onBench('takes target, detail, event and dirty keys from the work', async (bench, box) => {
    await bench.mutations.run(
      making('a', {
        work: async (tx) => {
          tx.audit({ target: 'toy-1', detail: { z: 1, a: ['\ud800', null, undefined, { d: 1, c: 2 }] } })
          tx.audit({ detail: { more: true } })
          tx.event({ type: 'toy.made', subject: 'toy-1', data: { n: 3 } })
          tx.dirty('toy', 'toy-1')
          return { body: {} }
        },
      }),
    )
    const [entry] = await bench.audit.list({}, 1, undefined)
    assert.is(entry?.target, 'toy-1')
    assert.equal(entry?.detail, { a: ['\ud800', null, null, { c: 2, d: 1 }], more: true, z: 1 })
    assert.equal((await bench.outbox.after(0, 1))[0], {
      id: 1,
      atMs: box.clock.nowMs(),
      type: 'toy.made',
      subject: 'toy-1',
      data: { n: 3 },
    })
    assert.equal(bench.dirty, ['toy/toy-1'])
    assert.equal(await bench.audit.verify(), { ok: true, checked: 1 })
  })

  onBench('tells of other nouns behind its own event, and of nothing when it is undone', async (bench) => {
    const work = async (tx: MutationTx) => {
      tx.tell({ type: 'part.make', subject: 'p-1', data: { of: 'a' } })
      tx.tell({ type: 'part.make', subject: 'p-2' })
      return { body: {} }
    }
    await bench.mutations.run(making('a', { work }))
    const undone = async (tx: MutationTx): Promise<never> => {
      await work(tx)
      throw new Error('no')
    }
    await failure(() => bench.mutations.run(making('b', { work: undone })))
    const events = await bench.outbox.after(0, 10)
    assert.equal(
      events.map(({ id, type, subject, data }) => [id, type, subject, data]),
      [
        [1, 'toy.make', 'a', {}],
        [2, 'part.make', 'p-1', { of: 'a' }],
        [3, 'part.make', 'p-2', {}],
      ],
    )
    assert.is((await bench.outbox.after(0, 10, 'part.*')).length, 2)
  })

  onBench('audits work that throws, undoes it, and answers its error', async (bench) => {
    const attempt = (id: string, error: unknown): Promise<Error | undefined> =>
      failure(() =>
        bench.mutations.run(
          making(id, {
            work: async (tx) => {
              await TOY.insert(tx, toy(id))
              tx.dirty('toy', id)
              throw error
            },
          }),
        ),
      )
    const errors = await Promise.all([
      attempt('a', simExists('a')),
      attempt('b', forbidden('admin')),
      attempt('c', new Error('secret-canary')),
    ])
    assert.equal(
      errors.map((error) => error?.message),
      [
        'the SIM a exists already; choose another IMSI',
        'this route needs the role admin; use a credential that has it',
        'secret-canary',
      ],
    )
    assert.equal(await TOY.select(bench.db, ''), [])
    assert.equal(bench.dirty, [])
    assert.is(await bench.outbox.lastId(), 0)
    const entries = await bench.audit.list({}, 10, undefined)
    assert.equal(
      entries.map(({ target, outcome, detail }) => [target, outcome, detail]),
      [
        ['c', 'failed', { error: 'internal' }],
        ['b', 'denied', { error: 'forbidden' }],
        ['a', 'failed', { error: 'sim_exists' }],
      ],
    )
  })

  onBench('writes neither entry nor event for an action that declares none', async (bench) => {
    await bench.mutations.run(making('a', { action: undefined }))
    assert.ok(await failure(() => bench.mutations.run(making('a', { action: undefined }))))
    assert.equal(await bench.audit.list({}, 10, undefined), [])
    assert.is(await bench.outbox.lastId(), 0)
    assert.equal(await TOY.find(bench.db, { id: 'a' }), toy('a'))
  })

  onBench('keeps work to the tables of its owner', async (bench) => {
    const error = await failure(() => bench.mutations.run(making('a', { owner: 'other' })))
    assert.match(error?.message ?? '', /plugin other may not touch the table toy_item/)
    for (const table of ['kernel_audit', 'kernel_outbox', 'kernel_rate']) {
      const work = async (tx: Parameters<ReturnType<typeof making>['work']>[0]) => {
        await tx.run(`delete from ${table}`)
        return {}
      }
      assert.ok(await failure(() => bench.mutations.run(making('b', { work }))), table)
    }
  })

  onBench('records refused attempts', async (bench) => {
    await bench.mutations.refuse({
      principal: TOKEN,
      action: 'tx.arm',
      target: 'lte',
      outcome: 'denied',
      requestId: 'r',
      detail: { role: 'sim:admin' },
    })
    const [entry] = await bench.audit.list(
      { action: 'tx.arm', principal: 'u-1', target: 'lte' },
      1,
      undefined,
    )
    assert.is(entry?.outcome, 'denied')
    assert.equal(entry?.detail, { role: 'sim:admin' })
  })

  onBench(
    'keeps the reply of a claim over a restart, in the same commit as the change',
    async (first, box) => {
      const scope = 'a'.repeat(64)
      const idempotency = { scope, bodySha256: 'b1' }
      assert.is(await first.mutations.stored(scope), undefined)
      await first.mutations.run(making('a', { idempotency }))
      await first.db.close()
      const second = await mutationBench(box)
      assert.equal(await second.mutations.stored(scope), {
        bodySha256: 'b1',
        reply: { status: 201, body: { id: 'a' } },
      })
      assert.is(await second.mutations.stored('b'.repeat(64)), undefined)
    },
  )

  onBench('seals a reply that shows a secret once', async (bench) => {
    assert.equal(bench.sealed, [{ table: 'kernel_idempotency', key: 'scope', columns: ['sealed_reply'] }])
    const reply = { status: 201, body: { token: 'svc_canary' }, sealed: true, headers: { location: '/x' } }
    const work = async () => reply
    await bench.mutations.run(making('a', { idempotency: { scope: 's', bodySha256: 'b' }, work }))
    assert.equal(await bench.mutations.stored('s'), { bodySha256: 'b', reply })
    const rows = await bench.db.all<{ reply: string | null; sealed_reply: Uint8Array; body_sha256: string }>(
      'select reply, sealed_reply, body_sha256 from kernel_idempotency',
    )
    assert.is(rows[0]?.reply, null)
    // Of a short secret in the request its digest tells enough to try them all.
    assert.is(rows[0]?.body_sha256, '')
    assert.not(Buffer.from(rows[0]?.sealed_reply ?? []).includes('svc_canary'))
  })

  onBench('reports a kept reply that was changed', async (bench, box) => {
    await bench.mutations.run(making('a', { idempotency: { scope: 's', bodySha256: 'b' } }))
    await box.raw("update kernel_idempotency set reply = '{}'")
    assert.is((await failure(() => bench.mutations.stored('s')))?.code, 'store_corrupt')
  })

  onBench('runs one of two mutations with the same claim and undoes the other wholly', async (one, box) => {
    const two = await mutationBench(box)
    one.limits.toy_per_hour = 10
    two.limits.toy_per_hour = 10
    const idempotency = { scope: 's', bodySha256: 'b' }
    const rateLimit = { name: 'toy_per_hour', cost: 1 }
    const errors = await Promise.all([
      failure(() => one.mutations.run(making('a', { idempotency, rateLimit }))),
      failure(() => two.mutations.run(making('b', { idempotency, rateLimit }))),
    ])
    const codes = errors.map((error) => error?.code)
    assert.equal(codes.toSorted(), ['idempotency_in_progress', undefined])
    assert.is((await TOY.select(one.db, '')).length, 1)
    assert.equal(await one.db.get('select used from kernel_rate'), { used: 1 })
    assert.is(await one.outbox.lastId(), 1)
    const outcomes = (await one.audit.list({}, 10, undefined)).map(({ outcome }) => outcome)
    assert.equal(outcomes.toSorted(), ['failed', 'ok'])
    assert.is((await one.audit.verify()).ok, true)
  })

  onBench('forgets a reply after 24 hours and lets the claim be taken anew', async (bench, box) => {
    const idempotency = { scope: 's', bodySha256: 'b' }
    await bench.mutations.run(making('a', { idempotency }))
    await box.clock.advance(24 * HOUR_MS - 1)
    assert.ok(await bench.mutations.stored('s'))
    await box.clock.advance(1)
    assert.is(await bench.mutations.stored('s'), undefined)
    await bench.mutations.run(making('b', { idempotency }))
    assert.equal((await bench.mutations.stored('s'))?.reply.body, { id: 'b' })
    await box.clock.advance(24 * HOUR_MS)
    await bench.mutations.sweep()
    assert.equal(await bench.db.get('select count(*) as count from kernel_idempotency'), { count: 0 })
  })

  onBench('keeps replies of requests without a mutation, bytes too, but no server error', async (bench) => {
    const claim = { scope: 's', bodySha256: 'b' }
    await bench.mutations.keep(claim, { status: 503, body: 'no' })
    assert.is(await bench.mutations.stored('s'), undefined)
    await bench.mutations.keep(claim, { status: 409, body: { error: { code: 'sim_exists' } } })
    await bench.mutations.keep(claim, { status: 200, body: Buffer.from([0, 255]) })
    assert.equal((await bench.mutations.stored('s'))?.reply, { status: 200, body: Buffer.from([0, 255]) })
  })

  onBench(
    'counts a limit in its window, keeps what was taken by work that failed, and starts anew after it',
    async (bench, box) => {
      bench.limits.toy_per_hour = 5
      const run = (id: string, cost: number) =>
        bench.mutations.run(making(id, { rateLimit: { name: 'toy_per_hour', cost } }))
      assert.equal((await run('a', 2)).rate, { limit: 5, remaining: 3, resetS: 3600 })
      await box.clock.advance(600_500)
      assert.ok(await failure(() => run('a', 2)))
      const error = (await failure(() => run('b', 2))) as RateLimitedError
      assert.is(error.code, 'rate_limited')
      assert.is(error.retryAfterS, 3_000)
      assert.equal(error.rate, { limit: 5, remaining: 1, resetS: 3_000 })
      assert.match(error.message, /toy_per_hour: .* of 5 an hour are left.*PUT \/v1\/policy/)
      assert.equal((await run('c', 1)).rate?.remaining, 0)
      bench.limits.toy_per_hour = 6
      assert.equal((await run('d', 1)).rate?.remaining, 0)
      await box.clock.advance(HOUR_MS - 600_500)
      assert.equal((await run('e', 2)).rate, { limit: 6, remaining: 4, resetS: 3600 })
      const denied = await bench.audit.list({ target: 'b' }, 5, undefined)
      assert.equal(
        denied.map(({ outcome, detail }) => [outcome, detail]),
        [['denied', { error: 'rate_limited' }]],
      )
      assert.equal(
        (await TOY.select(bench.db, 'order by id')).map(({ id }) => id),
        ['a', 'c', 'd', 'e'],
      )
    },
  )

  onBench('takes nothing for work that failed where only success counts', async (bench, box) => {
    bench.limits.toy_per_hour = 1
    const rateLimit = { name: 'toy_per_hour', cost: 1, isOfSuccess: true } as const
    const run = (id: string) => bench.mutations.run(making(id, { rateLimit }))
    assert.is((await run('a')).rate?.remaining, 0)
    assert.is((await failure(() => run('b')))?.code, 'rate_limited')
    assert.equal(
      (await TOY.select(bench.db, '')).map(({ id }) => id),
      ['a'],
      'what the limit refuses is undone',
    )
    await box.clock.advance(HOUR_MS)
    assert.ok(await failure(() => run('a')), 'there is one already')
    assert.is((await run('c')).rate?.remaining, 0)
  })

  onBench(
    'counts all takes of one commit, and gives back that of a mutation that was undone',
    async (bench) => {
      bench.limits.toy_per_hour = 3
      const idempotency = { scope: 's', bodySha256: 'b' }
      await bench.mutations.keep(idempotency, { status: 200, body: 'of another' })
      const rateLimit = { name: 'toy_per_hour', cost: 1 }
      const errors = await Promise.all([
        failure(() => bench.mutations.run(making('a', { rateLimit }))),
        failure(() => bench.mutations.run(making('b', { rateLimit, idempotency }))),
        failure(() => bench.mutations.run(making('c', { rateLimit }))),
        failure(() => bench.mutations.run(making('d', { rateLimit }))),
        failure(() => bench.mutations.run(making('e', { rateLimit }))),
      ])
      assert.equal(
        errors.map((error) => error?.code),
        [undefined, 'idempotency_in_progress', undefined, undefined, 'rate_limited'],
      )
      assert.equal(await bench.db.get('select used from kernel_rate'), { used: 3 })
      assert.equal(
        (await TOY.select(bench.db, 'order by id')).map(({ id }) => id),
        ['a', 'c', 'd'],
      )
    },
  )

  test('never lets concurrent requests of two instances take more than the limit', async () => {
    await using box = await store()
    const benches = [await mutationBench(box), await mutationBench(box)]
    for (const bench of benches) bench.limits.toy_per_hour = 10
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) =>
        benches[index % 2]?.mutations.run(
          making(`t${index}`, { rateLimit: { name: 'toy_per_hour', cost: 1 } }),
        ),
      ),
    )
    assert.is(results.filter(({ status }) => status === 'fulfilled').length, 10)
    assert.is((await TOY.select(benches[0]!.db, '')).length, 10)
    assert.equal(await benches[0]?.audit.verify(), { ok: true, checked: 30 })
  })
}).run()
