import {
  type CoreDriver,
  coreChangesRef,
  coreDriverRef,
  type PolicyReader,
  policyRef,
  southboundUnavailable,
  validationFailed,
} from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { OPEN_POLICY, settingsOf, type World, world } from '../support/world.ts'

const routes = suite('policy/policy-routes')
let here: World

routes.before.each(async () => {
  here = await world({ ...settingsOf('DE'), policy: { apns: ['internet', 'internet', 'voice'] } })
})
routes.after.each(() => here.close())

const reader = (): PolicyReader => here.instance.services?.get(policyRef.id) as PolicyReader

routes('answer the defaults, with the configured APNs, as revision 1', async () => {
  const answer = await here.call('GET', '/v1/policy')
  assert.is(answer.status, 200)
  assert.is(answer.headers.etag, '"1"')
  assert.is(answer.body.revision, 1)
  assert.equal(answer.body.apns, ['internet', 'voice'])
  assert.equal(answer.body.spectrum, {
    allow_list: [],
    license: {
      acknowledged: false,
      reference: null,
      holder: null,
      expires_at: null,
      acknowledged_by: null,
      acknowledged_at: null,
    },
  })
})

routes('change the bundle, everywhere at once, and keep it over a restart', async () => {
  const answer = await here.call('PUT', '/v1/policy', { rate_limits: { tx_arm_per_hour: 1 } })
  assert.is(answer.headers.etag, '"2"')
  assert.is(reader().bundle().rate_limits.tx_arm_per_hour, 1)
  assert.is(reader().bundle().revision, 2)
  here = await here.restart()
  assert.is(reader().bundle().rate_limits.tx_arm_per_hour, 1)
  assert.equal((await here.call('GET', '/v1/policy')).body, answer.body)
})

routes('audit which keys changed, from what to what', async () => {
  await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 48, mesh: { allow_route_advertise: true } })
  const mutation = here.fake.mutations.at(-1)
  assert.is(mutation?.action, 'policy.update')
  assert.equal(mutation?.detail, {
    revision: 2,
    changes: [
      { key: '/sim_swap_cooldown_hours', old: 24, new: 48 },
      { key: '/mesh/allow_route_advertise', old: false, new: true },
    ],
  })
})

routes('keep the revision when nothing changes', async () => {
  const answer = await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 24 })
  assert.is(answer.status, 200)
  assert.is(answer.body.revision, 1)
})

routes('refuse a stale If-Match and take a fresh one', async () => {
  const fresh = await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 1 }, { 'if-match': '"1"' })
  assert.is(fresh.status, 200)
  const stale = await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 2 }, { 'if-match': '"1"' })
  assert.is(stale.error, 'policy_conflict')
  assert.is(reader().bundle().sim_swap_cooldown_hours, 1)
})

routes(
  'refuse APNs that the core driver cannot place, and ask nobody for a core that is not driven',
  async () => {
    const asked: (readonly string[])[] = []
    let failing: (error: string) => Error = validationFailed
    const driver: Pick<CoreDriver, 'render'> = {
      render: async ({ apns }) => {
        asked.push(apns)
        if (apns.includes('iot')) throw failing('no free range for the APN iot: choose another core_a.subnet')
        return { files: new Map(), sha256: '' }
      },
    }
    here.fake.services.set(coreDriverRef.id, driver)
    const put = (body: object) => here.call('PUT', '/v1/policy', body)
    assert.is((await put({ apns: ['internet', 'iot'] })).status, 200, 'southbound.driver is none')
    assert.equal(asked, [])
    await put({ apns: ['internet'] })
    here.fake.changeSettings({ ...settingsOf('DE'), southbound: { driver: 'container' } })
    const refused = await put({ apns: ['internet', 'iot'] })
    assert.is(refused.error, 'validation_failed')
    assert.equal(refused.details, [
      { pointer: '/apns', message: 'no free range for the APN iot: choose another core_a.subnet' },
    ])
    assert.equal(reader().bundle().apns, ['internet'])
    asked.length = 0
    assert.is((await put({ sim_swap_cooldown_hours: 3 })).status, 200)
    assert.equal(asked, [], 'the APNs stay as they are')
    // What is no fault of these APNs is said by the core, and can be mended by others.
    failing = southboundUnavailable
    assert.is((await put({ apns: ['internet', 'iot'] })).status, 200)
    failing = validationFailed
    assert.is((await put({ apns: ['voice', 'internet', 'iot'] })).status, 200)
  },
)

routes('say what other APNs would do to the core, and change nothing by that', async () => {
  const before = reader().bundle()
  const asked: unknown[] = []
  const outlook = { restarts: ['smf'], dropped: 2, expectedS: 21, notes: [], problems: [] }
  here.fake.services.set(coreChangesRef.id, {
    outlook: async (change: object) => {
      asked.push(change)
      return outlook
    },
  })
  const tried = (body: object, headers = {}) => here.call('PUT', '/v1/policy?dry_run=true', body, headers)
  const { status, body } = await tried({ apns: ['iot'] })
  const core = { restarts: ['smf'], subscribers_dropped: 2, expected_s: 21, notes: [], problems: [] }
  assert.equal([status, body.apns, body.core, body.revision], [200, ['iot'], core, 1])
  assert.equal(asked, [{ apns: ['iot'] }])
  assert.is((await tried({ sim_swap_cooldown_hours: 3 })).body.core, null)
  assert.is((await tried({ apns: ['iot'] }, { 'if-match': '"9"' })).error, 'policy_conflict')
  assert.is((await tried({ apns: ['bad apn'] })).error, 'validation_failed')
  assert.equal([reader().bundle().apns, reader().bundle().revision], [before.apns, 1])
})

routes('change nothing when one of several keys is wrong', async () => {
  const answer = await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 1, apns: ['bad apn'] })
  assert.is(answer.error, 'validation_failed')
  assert.equal(
    answer.details.map(({ pointer }) => pointer),
    ['/apns/0'],
  )
  assert.is(reader().bundle().revision, 1)
})

routes('stamp the license with the principal', async () => {
  const { body } = await here.call('PUT', '/v1/policy', OPEN_POLICY)
  assert.match(JSON.stringify(body), /"acknowledged_by":"token:tok-1\/alice","acknowledged_at":"2026-/)
})

routes('see what another instance on the same store has changed', async () => {
  const other = await world(settingsOf('DE'), here.db)
  await other.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 7 })
  assert.is(reader().bundle().sim_swap_cooldown_hours, 24)
  assert.is((await here.call('GET', '/v1/policy')).body.sim_swap_cooldown_hours, 7)
  assert.is(reader().bundle().sim_swap_cooldown_hours, 7)
  await other.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 8 })
  // The outbox is the store's: its events come to every instance.
  await here.fake.emit({ type: 'policy.updated', subject: 'policy' })
  assert.is(reader().bundle().sim_swap_cooldown_hours, 8)
  await other.fake.dispose()
})

routes('keep a hundred old revisions and no more', async () => {
  for (let hours = 100; hours < 250; hours += 1) {
    await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: hours })
  }
  const rows = await here.db.all<{ revision: number }>('select revision from policy_bundle order by revision')
  assert.is(rows.length, 101)
  assert.is(rows.at(-1)?.revision, 151)
})

routes('never serve a policy with a flipped byte, and say so', async () => {
  await here.call('PUT', '/v1/policy', OPEN_POLICY)
  here.db.exec(`update policy_bundle set content = replace(content, 'b3', 'b7') where revision = 2`)
  assert.is((await here.call('GET', '/v1/policy')).error, 'store_corrupt')
  assert.is((await here.call('PUT', '/v1/policy', { sim_swap_cooldown_hours: 1 })).error, 'store_corrupt')
  here = await here.restart()
  assert.throws(() => reader().bundle(), /checksum/)
  assert.is(
    (await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })).error,
    'store_corrupt',
  )
  const health = await here.instance.health?.()
  assert.equal(
    health?.map(({ name, status }) => `${name} ${status}`),
    ['policy down', 'tx-gate down'],
  )
})

routes.run()
