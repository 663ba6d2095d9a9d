import type { Instance, Plugin } from '@steeple/contracts'
import { transmitterRef } from '@steeple/contracts'
import { assert, loadTestbed, pluginFrom, suite, type Testbed } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { OPEN_POLICY, PROFILES } from './support/world.ts'

const http = suite('policy/http')

/** A radio in the place of a RAN driver. */
const radio = { isOnAir: false, doesObey: true }
const driver: Plugin = {
  setup: async (): Promise<Instance> => ({
    services: new Map([
      [
        transmitterRef.id,
        {
          stop: async () => {
            if (!radio.doesObey) throw new Error('no answer')
            radio.isOnAir = false
          },
        },
      ],
    ]),
  }),
}

let bed: Testbed

http.before(async () => {
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      {
        name: '@example/radio',
        version: '1.0.0',
        plugin: driver,
        manifest: {
          id: 'radio',
          kind: 'ran',
          contracts: '*',
          config_path: 'radio',
          provides: [transmitterRef.id],
          handover: 'exclusive',
        },
      },
    ],
    settings: { server: { country: 'DE' }, ran: { profiles: PROFILES } },
  })
  await bed.settled()
})
http.after(async () => bed?.stop())

const put = (body: unknown, headers: Record<string, string> = {}): ReturnType<Testbed['request']> =>
  bed.request('PUT', '/v1/policy', { body, headers })

function codeOf({ body }: { readonly body: unknown }): unknown {
  return (body as { error?: { code?: unknown } }).error?.code
}
function pointersOf({ body }: { readonly body: unknown }): unknown {
  return (body as { error: { details?: readonly { pointer: string }[] } }).error.details?.map(
    (each) => each.pointer,
  )
}

http('serves the bundle with its ETag, and 304 to who has it', async () => {
  const first = await bed.request('GET', '/v1/policy')
  assert.is(first.status, 200)
  const etag = first.headers.get('etag') ?? ''
  assert.match(etag, /^"\d+"$/)
  const again = await bed.request('GET', '/v1/policy', { headers: { 'If-None-Match': etag } })
  assert.is(again.status, 304)
  assert.is(again.body, undefined)
  assert.is(again.headers.get('etag'), etag)
  const bare = etag.replaceAll('"', '')
  const status = async (known: string): Promise<number> =>
    (await bed.request('GET', '/v1/policy', { headers: { 'If-None-Match': known } })).status
  for (const known of [bare, `W/${etag}`, `"0", ${etag}`, '*']) assert.is(await status(known), 304, known)
  for (const known of [`"${bare}0"`, `"${bare}`, 'x']) assert.is(await status(known), 200, known)
})

http('takes null as RFC 7396 means it and points at what may not be removed', async () => {
  const set = await put({ spectrum: { license: { reference: 'L-1' } } })
  assert.is(set.status, 200, JSON.stringify(set.body))
  const cleared = await put({ spectrum: { license: { reference: null } } })
  assert.match(JSON.stringify(cleared.body), /"reference":null/)
  const removed = await put({ mesh: null, apns: null })
  assert.is(removed.status, 400)
  assert.equal(pointersOf(removed), ['/mesh', '/apns'])
})

http('refuses unknown and read-only keys with their pointer', async () => {
  assert.equal(pointersOf(await put({ rate_limits: { nope: 1 } })), ['/rate_limits/nope'])
  assert.equal(pointersOf(await put({ spectrum: { license: { acknowledged_by: 'x' } } })), [
    '/spectrum/license/acknowledged_by',
  ])
  assert.equal(pointersOf(await put({ revision: 1 })), ['/revision'])
  const list = await put({
    spectrum: { allow_list: [{ technology: 'lte', band: 'b3', country: 'DE', x: 1 }] },
  })
  assert.equal(pointersOf(list), ['/spectrum/allow_list/0/x'])
})

http('lets one of two writers with the same ETag win', async () => {
  const etag = (await bed.request('GET', '/v1/policy')).headers.get('etag') ?? ''
  const answers = await Promise.all(
    [11, 12].map((hours) => put({ sim_swap_cooldown_hours: hours }, { 'If-Match': etag })),
  )
  assert.equal(answers.map(({ status }) => status).sort(), [200, 409])
  assert.is(
    answers.map(codeOf).find((code) => code !== undefined),
    'policy_conflict',
  )
})

http('audits a change with old and new values', async () => {
  await put({ sim_swap_cooldown_hours: 5 })
  const entry = (await bed.audit()).find(({ action }) => action === 'policy.update')
  assert.match(JSON.stringify(entry?.detail), /"key":"\/sim_swap_cooldown_hours","new":5,"old":/)
})

http('checks, arms and disarms over HTTP', async () => {
  const closed = await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'b3-lab' } })
  assert.is(closed.status, 409)
  assert.is(codeOf(closed), 'tx_gate_closed')
  assert.equal(pointersOf(closed), ['/gates/license_ack', '/gates/allow_list'])
  assert.is((await put(OPEN_POLICY)).status, 200)
  const body = { technology: 'lte', channels: [1300], bandwidth_mhz: 10 }
  const checked = await bed.request('POST', '/v1/spectrum/check', { body })
  assert.is(checked.status, 200, JSON.stringify(checked.body))
  assert.match(JSON.stringify(checked.body), /"allowed":true,"gate":"".*"channels_checked":1/)
  const armed = await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'b3-lab' } })
  assert.is(armed.status, 200)
  assert.equal(armed.body, (await bed.request('GET', '/v1/tx/arm')).body)
  radio.isOnAir = true
  const disarmed = await bed.request('POST', '/v1/tx/disarm')
  assert.is(disarmed.status, 200)
  assert.is(radio.isOnAir, false)
  const types = (await bed.events()).map(({ type }) => type)
  assert.ok(types.includes('tx.arm') && types.includes('tx.disarm'))
})

http('does not replay a success for a disarm that was never confirmed', async () => {
  await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'b3-lab' } })
  radio.isOnAir = true
  radio.doesObey = false
  const headers = { 'Idempotency-Key': 'disarm-1' }
  assert.is((await bed.request('POST', '/v1/tx/disarm', { headers })).status, 503)
  assert.is((await bed.request('POST', '/v1/tx/disarm', { headers })).status, 503)
  radio.doesObey = true
  const confirmed = await bed.request('POST', '/v1/tx/disarm', { headers })
  assert.is(confirmed.status, 200)
  assert.is(radio.isOnAir, false)
  const replayed = await bed.request('POST', '/v1/tx/disarm', { headers })
  assert.is(replayed.headers.get('idempotency-replayed'), 'true')
  assert.equal(replayed.body, confirmed.body)
  await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'b3-lab' } })
  radio.isOnAir = true
  assert.is((await bed.request('POST', '/v1/tx/disarm', { headers })).status, 200)
  assert.is(radio.isOnAir, false, 'a key that was used stops what is on again')
})

http('refuses a disarm for nothing that comes with it, and takes nothing for a refused arm', async () => {
  const token = bed.credential({ kind: 'token', id: 'arms', roles: ['sim:admin', 'operator'] })
  const send = async (path: string, body: string, type = 'application/json'): Promise<number> =>
    (await bed.request('POST', path, { body, token, headers: { 'content-type': type } })).status
  for (const [body, type] of [
    ['{"a":1}'],
    ['{'],
    ['stop', 'text/plain'],
    ['[]'],
    ['null', 'application/xml'],
  ] as const)
    assert.is(await send('/v1/tx/disarm?why=now', body, type), 200, body)
  for (const body of [
    '{"arm":false,"profile_id":null}',
    '{"arm":false,"profile_id":7,"x":[]}',
    '{"arm": false,',
  ])
    assert.is(await send('/v1/tx/arm', body, 'text/plain'), 200, body)
  await put({ rate_limits: { tx_arm_per_hour: 1 }, spectrum: { license: { acknowledged: false } } })
  for (const profile_id of ['b3-lab', 'nope', '', null, 7, 'x'.repeat(65), undefined])
    assert.is(await send('/v1/tx/arm', JSON.stringify({ arm: true, profile_id })), 409, `${profile_id}`)
  await put(OPEN_POLICY)
  assert.is(await send('/v1/tx/arm', '{"arm":true,"profile_id":null}'), 400)
  assert.is(await send('/v1/tx/arm', '{"arm":true,"profile_id":"b3-lab"}'), 200)
  assert.is(await send('/v1/tx/arm', '{"arm":true,"profile_id":"b3-lab"}'), 429)
  assert.is(await send('/v1/tx/arm', '{"arm":false}'), 200)
  await put({ rate_limits: { tx_arm_per_hour: 100 } })
})

http('disarms by itself soon after the license is withdrawn, with audit entry and event', async () => {
  await bed.request('POST', '/v1/tx/arm', { body: { arm: true, profile_id: 'b3-lab' } })
  radio.isOnAir = true
  await put({ spectrum: { license: { acknowledged: false } } })
  await bed.settled()
  assert.is(radio.isOnAir, false)
  const entry = (await bed.audit()).find(({ action }) => action === 'tx.auto_disarm')
  assert.is(entry?.principal.kind, 'system')
  const told = (await bed.events()).filter(({ type }) => type.startsWith('tx.'))
  assert.is(told.at(-1)?.type, 'tx.auto_disarmed')
})

http('asks for the roles of the contract', async () => {
  const as = (role: 'viewer' | 'operator' | 'sim:admin'): string =>
    bed.credential({ kind: 'token', id: role.replace(':', '-'), roles: [role] })
  const cases = [
    ['viewer', 'GET', '/v1/policy', 200],
    ['viewer', 'PUT', '/v1/policy', 403],
    ['operator', 'PUT', '/v1/policy', 200],
    ['viewer', 'POST', '/v1/spectrum/check', 403],
    ['operator', 'POST', '/v1/spectrum/check', 200],
    ['operator', 'POST', '/v1/tx/arm', 403],
    ['sim:admin', 'POST', '/v1/tx/arm', 200],
    ['viewer', 'POST', '/v1/tx/disarm', 403],
    ['operator', 'POST', '/v1/tx/disarm', 200],
    ['viewer', 'GET', '/v1/tx/arm', 200],
  ] as const
  const bodies: Readonly<Record<string, unknown>> = {
    '/v1/policy': {},
    '/v1/spectrum/check': { technology: 'lte', channels: [1300] },
    '/v1/tx/arm': { arm: false },
  }
  for (const [role, method, path, status] of cases) {
    const body = method === 'GET' ? {} : { body: bodies[path] ?? {} }
    const answer = await bed.request(method, path, { token: as(role), ...body })
    assert.is(answer.status, status, `${role} ${method} ${path} ${JSON.stringify(answer.body)}`)
  }
})

http('limits spectrum checks by the policy, from the next request on', async () => {
  await put({ rate_limits: { spectrum_check_per_hour: 0 } })
  const body = { technology: 'lte', channels: [1300] }
  const token = bed.credential({ kind: 'token', id: 'limited', roles: ['operator'] })
  const refused = await bed.request('POST', '/v1/spectrum/check', { body, token })
  assert.is(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  await put({ rate_limits: { spectrum_check_per_hour: 300 } })
  assert.is((await bed.request('POST', '/v1/spectrum/check', { body, token })).status, 200)
})

http('reports its health and metrics', async () => {
  const metrics = await bed.request('GET', '/metrics', { token: false })
  assert.match(String(metrics.body), /svc_policy_spectrum_checks_total\{result="allowed"\} 1/)
  assert.match(String(metrics.body), /svc_policy_tx_armed 0/)
})

http.run()
