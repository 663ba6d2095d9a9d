import { hash } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeSigningKey, type SigningKey, signatureText } from '@steeple/contracts'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { type Box, joins, type Standing, standingAt, world } from './support/world.ts'

const groups = suite('groups', { limitMs: 60_000 })

const PROFILE = { technology: 'lte', channel: 1575, bandwidth_mhz: 10, eirp_dbm: 20 }

async function stands(hub: Box, box: Box, standing: string): Promise<Standing> {
  await eventually(async () => {
    await box.beat()
    const now = await standingAt(hub, box)
    assert.is(now.standing, standing, JSON.stringify(now))
  })
  return await standingAt(hub, box)
}

/** As `svc policy license sign` does. */
function signLicense(license: string, key: SigningKey): { license: string; signature: string } {
  const files = new Map([['licence.json', hash('sha256', license)]])
  return { license, signature: signatureText('steeple licence 1', files, key) }
}

async function audited(box: Box, action: string) {
  return (await box.bed.audit()).filter((entry) => entry.action === action)
}

groups('a box takes what its hub wants and applies nothing before its own admin permits it', async () => {
  await using all = await world(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  const state = { policy: { sim_swap_cooldown_hours: 48 }, radio_profiles: { mast: PROFILE } }
  await hub.ask('PUT', '/v1/groups/villages', { members: { all: true }, state })
  const before = await stands(hub, box, 'not_permitted')
  assert.equal(before.permitted, [])
  const [{ drift = [] } = {}] = before.parts
  assert.equal(drift, [{ pointer: '/policy/sim_swap_cooldown_hours', desired: '48', actual: '24' }])
  assert.is((await box.ask('GET', '/v1/policy')).sim_swap_cooldown_hours, 24)

  await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
  await eventually(async () => assert.equal((await standingAt(hub, box)).permitted, ['policy']))
  assert.is((await standingAt(hub, box)).standing, 'not_permitted')
  assert.is((await box.ask('GET', '/v1/policy')).sim_swap_cooldown_hours, 48)
  assert.equal((await box.ask('GET', '/v1/tx/profiles')).profiles, [])

  await box.ask('PUT', '/v1/steering', { permitted: ['policy', 'radio_profiles'] })
  await stands(hub, box, 'in_step')
  assert.is((await box.ask<{ profiles: object[] }>('GET', '/v1/tx/profiles')).profiles.length, 1)
  assert.is((await box.ask('GET', '/v1/tx/arm')).armed, false)

  // At both ends it is written down who permitted what, and as whom the hub acted.
  assert.is((await audited(box, 'groups.permit')).length, 2)
  assert.ok(
    (await audited(hub, 'groups.report')).some(({ detail }) =>
      JSON.stringify(detail).includes('"permitted":["policy"]'),
    ),
  )
  const [change] = await audited(box, 'policy.update')
  assert.equal([change?.principal.kind, change?.principal.id], ['node', hub.id])
})

groups(
  'what somebody changes on the box stays and shows as drift until the hub says something new',
  async () => {
    await using all = await world(1)
    const { hub } = all
    const [box] = all.boxes as [Box]
    const set = (hours: number) =>
      hub.ask('PUT', '/v1/groups/villages', {
        members: { nodes: [box.id] },
        state: { policy: { sim_swap_cooldown_hours: hours } },
      })
    await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
    await set(48)
    await stands(hub, box, 'in_step')
    await box.ask('PUT', '/v1/policy', { sim_swap_cooldown_hours: 1 })
    const { parts } = await stands(hub, box, 'differs')
    assert.equal(parts[0]?.drift, [
      { pointer: '/policy/sim_swap_cooldown_hours', desired: '48', actual: '1' },
    ])
    assert.is((await box.ask('GET', '/v1/policy')).sim_swap_cooldown_hours, 1)
    await set(72)
    await stands(hub, box, 'in_step')
    assert.is((await box.ask('GET', '/v1/policy')).sim_swap_cooldown_hours, 72)
  },
)

groups('allow-list and licence are refused when a group is set', async () => {
  await using all = await world(0)
  const spectrum = { license: { acknowledged: true, reference: 'thief', holder: 'thief' } }
  const { error } = await all.hub.ask<{ error: { details: { pointer: string }[] } }>(
    'PUT',
    '/v1/groups/villages',
    { members: { all: true }, state: { policy: { spectrum } } },
    400,
  )
  assert.is(error.details[0]?.pointer, '/state/policy/spectrum')
})

groups(
  'a licence that an office has signed for a box is taken by that box alone, and by no hub changed',
  async () => {
    await using folder = await tempDir()
    const key = await makeSigningKey(join(folder.path, 'office.key'))
    const settings = { server: { country: 'DE' }, policy: { license_keys: [`${key.publicKey} office`] } }
    await using all = await world(2, [], settings)
    const { hub } = all
    const [one, two] = all.boxes as [Box, Box]
    for (const box of [one, two]) await box.ask('PUT', '/v1/steering', { permitted: ['licenses'] })
    const license = (node: string, low_mhz: number): string =>
      JSON.stringify({
        ...{ node, country: 'DE', issued_at: '2026-11-01T00:00:00Z', expires_at: '2099-01-01T00:00:00Z' },
        ...{ reference: `office ${low_mhz}`, holder: 'Village' },
        allow_list: [{ technology: 'lte', band: 'b3', country: 'DE', low_mhz, high_mhz: low_mhz + 20 }],
      })
    const set = (licenses: object) =>
      hub.ask('PUT', '/v1/groups/villages', { members: { all: true }, state: { licenses } })
    const referenceAt = async (box: Box) =>
      (await box.ask<{ spectrum: { license: { reference: string } } }>('GET', '/v1/policy')).spectrum.license
        .reference

    await set({
      [one.id]: signLicense(license(one.id, 1810), key),
      [two.id]: signLicense(license(two.id, 1840), key),
    })
    for (const box of [one, two]) await stands(hub, box, 'in_step')
    assert.equal([await referenceAt(one), await referenceAt(two)], ['office 1810', 'office 1840'])
    assert.is((await one.ask('GET', '/v1/tx/arm')).armed, false)

    // What its thief writes into it, or has from elsewhere, is worth nothing.
    const { signature } = signLicense(license(one.id, 1810), key)
    await set({ [one.id]: { license: license(one.id, 1850), signature } })
    const { parts } = await stands(hub, one, 'refused')
    assert.match(parts[0]?.problems[0]?.message ?? '', 'is not what was signed')
    assert.equal(
      parts[0]?.drift.map(({ pointer }) => pointer.split('/').at(-1)),
      ['reference', 'allow_list'],
    )
    assert.is(await referenceAt(one), 'office 1810')

    // What somebody on the spot has taken back stays so, until the office says something new.
    await one.ask('PUT', '/v1/policy', { spectrum: { allow_list: [] } })
    await set({ [one.id]: signLicense(license(one.id, 1810), key) })
    const withdrawn = await stands(hub, one, 'differs')
    assert.equal(
      withdrawn.parts[0]?.drift.map(({ pointer }) => pointer.split('/').at(-1)),
      ['allow_list'],
    )
    const later = license(one.id, 1815).replace('2026-11-01', '2026-11-02')
    await set({ [one.id]: signLicense(later, key) })
    await stands(hub, one, 'in_step')
    assert.is(await referenceAt(one), 'office 1815')
  },
)

groups('a part that the box refuses says the own error of the box, and the others are applied', async () => {
  await using all = await world(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await box.ask('PUT', '/v1/steering', { permitted: ['policy', 'plugins'] })
  const state = { policy: { sim_swap_cooldown_hours: 48 }, plugins: { nowhere: { enabled: true } } }
  await hub.ask('PUT', '/v1/groups/villages', { members: { all: true }, state })
  const { parts } = await stands(hub, box, 'refused')
  const [policy, plugins] = parts
  assert.equal([policy?.status, plugins?.status], ['applied', 'refused'])
  assert.equal(
    plugins?.problems.map(({ pointer, code }) => [pointer, code]),
    [['/plugins/nowhere', 'plugin_not_found']],
  )
})

groups('what no route of the hub would take is refused when the group is set, at its place', async () => {
  await using all = await world(0)
  const bad = { members: { all: true }, state: { policy: { sim_swap_cooldown_hours: -1 } } }
  const { error } = await all.hub.ask<{ error: { details: { pointer: string }[] } }>(
    'PUT',
    '/v1/groups/villages',
    bad,
    400,
  )
  assert.is(error.details[0]?.pointer, '/state/policy/sim_swap_cooldown_hours')
})

groups('of two groups of a box the higher rank has the last word', async () => {
  await using all = await world(2)
  const { hub } = all
  const [one, two] = all.boxes as [Box, Box]
  for (const box of [one, two]) await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
  const state = (hours: number) => ({ policy: { sim_swap_cooldown_hours: hours } })
  await hub.ask('PUT', '/v1/groups/special', { members: { nodes: [two.id] }, rank: 1, state: state(2) })
  await hub.ask('PUT', '/v1/groups/zzz', { members: { all: true }, state: state(1) })
  for (const box of [one, two]) await stands(hub, box, 'in_step')
  assert.is((await one.ask('GET', '/v1/policy')).sim_swap_cooldown_hours, 1)
  assert.is((await two.ask('GET', '/v1/policy')).sim_swap_cooldown_hours, 2)
})

groups('a hub that has forgotten issues above what its boxes know', async () => {
  await using all = await world(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
  const set = (hours: number) =>
    hub.ask('PUT', '/v1/groups/villages', {
      members: { all: true },
      state: { policy: { sim_swap_cooldown_hours: hours } },
    })
  for (const hours of [1, 2, 3]) {
    await set(hours)
    await stands(hub, box, 'in_step')
  }
  // As after a backup of long ago: the box tells of a version that the hub does not know.
  const { has_version: version } = await standingAt(hub, box)
  const token = hub.bed.credential({ kind: 'node', id: box.id, roles: ['node'] })
  const report = { version: 9, digest: 'a'.repeat(64), permitted: ['policy'], parts: [] }
  const answer = await hub.bed.request('PUT', `/v1/desired-state/${box.id}/report`, { token, body: report })
  assert.is(answer.status, 200)
  const after = await stands(hub, box, 'in_step')
  assert.equal([version, after.has_version], [3, 10])
})

groups('another hub has no permit of the one before', async () => {
  await using all = await world(1)
  await using others = await world(0)
  const [box] = all.boxes as [Box]
  await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
  await joins(box, others.hub)
  const { permitted, hub } = await box.ask<{ permitted: string[]; hub: { node_id: string } }>(
    'GET',
    '/v1/steering',
  )
  assert.equal([permitted, hub.node_id], [[], others.hub.id])
})

groups('a member sets no groups, a hub permits nobody, and a box gets no document of another', async () => {
  await using all = await world(2)
  const { hub } = all
  const [one, two] = all.boxes as [Box, Box]
  await one.ask('PUT', '/v1/groups/villages', { members: { all: true }, state: {} }, 409)
  await hub.ask('PUT', '/v1/steering', { permitted: ['policy'] }, 409)
  await hub.ask('PUT', '/v1/groups/villages', { members: { all: true }, state: {} })
  const token = hub.bed.credential({ kind: 'node', id: one.id, roles: ['node'] })
  const other = await hub.bed.request('GET', `/v1/desired-state/${two.id}`, { token })
  assert.is(other.status, 403)
})

groups(
  'alert rules go into the configuration of a box, and a rule that the hub itself would refuse is refused there',
  async () => {
    await using all = await world(1, [{ dir: fileURLToPath(new URL('../../alerts', import.meta.url)) }])
    const { hub } = all
    const [box] = all.boxes as [Box]
    await box.ask('PUT', '/v1/steering', { permitted: ['alert_rules'] })
    const rule = {
      name: 'warm',
      metric: 'svc_policy_tx_armed',
      op: '>',
      threshold: 0,
      for: '1m',
      severity: 'info',
    }
    const set = (rules: object[], status = 200) =>
      hub.ask(
        'PUT',
        '/v1/groups/villages',
        { members: { all: true }, state: { alert_rules: { rules, disabled_rules: ['session_surge'] } } },
        status,
      )
    await set([{ ...rule, severity: 'loud' }], 400)
    await set([rule])
    await stands(hub, box, 'in_step')
    const { settings } = await box.ask<{ settings: { key: string; value: unknown }[] }>('GET', '/v1/settings')
    const setTo = (key: string) => settings.find((one) => one.key === key)?.value
    assert.equal([setTo('alerts.rules'), setTo('alerts.disabled_rules')], [[rule], ['session_surge']])
  },
)

groups('a profile is made, changed and removed, each time as the hub wants it', async () => {
  await using all = await world(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await box.ask('PUT', '/v1/steering', { permitted: ['radio_profiles'] })
  const set = (profile: object | null) =>
    hub.ask('PUT', '/v1/groups/villages', {
      members: { all: true },
      state: { radio_profiles: { mast: profile } },
    })
  await set(PROFILE)
  await stands(hub, box, 'in_step')
  await set({ ...PROFILE, channel: 1600 })
  await stands(hub, box, 'in_step')
  await set(null)
  await stands(hub, box, 'in_step')
  assert.equal((await box.ask('GET', '/v1/tx/profiles')).profiles, [])
})

groups.run()
