import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { policyRef, type Settings } from '@steeple/contracts'
import { assert, type Overrides, suite } from '@steeple/testkit'
import { renderedOf } from '../../src/config-set/sha256.ts'
import type { CoreConfigParts } from '../../src/core-config/parts.ts'
import { type FakeCore, fakeCore, filesFor, phones } from '../support/small-core.ts'
import { failureOf, makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/core-config')
const never = new AbortController().signal

interface Setting {
  readonly settings?: Overrides<Settings>
  readonly parts?: Partial<CoreConfigParts>
}

async function inCore(
  work: (world: World, one: FakeCore) => Promise<void>,
  { settings = {}, parts = {} }: Setting = {},
): Promise<void> {
  const world = await makeWorld()
  const one = await fakeCore(world, settings, parts)
  try {
    await work(world, one)
  } finally {
    await one.close()
    await world.close()
  }
}

test('puts what the settings ask for in force, and tells it', () =>
  inCore(async (world, { core, fake, pass }) => {
    assert.equal(await pass(), { state: 'converged' })
    assert.is(world.running.get('mme')?.get('mme.yaml'), 'plmn: 99999\ntac: 7\n')
    assert.is(await core.appliedSha256(), renderedOf(filesFor(core.desired())).sha256)
    assert.equal(core.health(), [
      {
        name: 'core',
        kind: 'core',
        status: 'ok',
        detail: `5 files in force in ${world.dir}`,
        required: true,
      },
    ])
    assert.is(fake.metrics.value('svc_driver_core_a_apply_total', { result: 'applied' }), 1)
    assert.is(fake.metrics.value('svc_driver_core_a_restarts_total', { daemon: 'mme' }), 1)
    assert.equal(
      fake.mutations.map(({ action, principal }) => [action, principal.kind]),
      [['core.config_apply', 'system']],
    )
    await pass()
    assert.is(fake.mutations.length, 1)
    assert.is(world.engine.restarts.length, 4)
  }))

test('restarts only what another PLMN concerns', () =>
  inCore(async (world, { pass, change }) => {
    await pass()
    const count = world.engine.restarts.length
    change({ plmn: { mnc: '05' } })
    await pass()
    assert.equal(world.engine.restarts.slice(count), ['c-mme', 'c-smf'])
    assert.is(await world.read('mme.yaml'), 'plmn: 99905\ntac: 7\n')
  }))

test('has itself looked at soon when settings or policy ask for something else', () =>
  inCore(async (world, { core, fake, pass, change }) => {
    await pass()
    assert.equal(fake.enqueued, [])
    await fake.clock.advance(2_000)
    assert.equal(fake.enqueued, [])
    change({ tac: 8 })
    assert.equal(fake.enqueued, [{ resource: 'core_config', key: 'core' }])
    await fake.clock.advance(2_000)
    const { length } = fake.enqueued
    fake.services.set(policyRef.id, { bundle: () => ({ apns: ['iot'] }) })
    await fake.clock.advance(2_000)
    assert.is(fake.enqueued.length, length + 1)
    assert.equal(core.desired().apns, ['iot'])
    await pass()
    assert.is(await world.read('smf.yaml'), 'apns: iot\n')
  }))

test('does not set a core to something else while the policy is not there yet', () =>
  inCore(async (world, { fake, pass }) => {
    await pass()
    fake.services.set(policyRef.id, { bundle: () => ({ apns: ['iot'] }) })
    await pass()
    const count = world.engine.restarts.length
    // The service starts again; the driver loads before the policy does.
    const second = await fakeCore(world)
    assert.equal(await second.pass(), { state: 'converged' })
    assert.is((await second.core.plan(never)).state, 'in_sync')
    second.fake.services.set(policyRef.id, {
      bundle: () => {
        throw new Error('the policy is damaged')
      },
    })
    await second.pass()
    assert.is(world.engine.restarts.length, count)
    second.fake.services.set(policyRef.id, { bundle: () => ({ apns: ['iot', 'ims'] }) })
    await second.pass()
    assert.is(await world.read('smf.yaml'), 'apns: iot ims\n')
    second.fake.services.delete(policyRef.id)
    await second.pass()
    assert.is(await world.read('smf.yaml'), 'apns: iot ims\n')
    await second.close()
  }))

test('remembers a refusal over a start of the service before the policy is there', () =>
  inCore(async (world, { fake, pass }) => {
    fake.services.set(policyRef.id, { bundle: () => ({ apns: ['iot'] }) })
    await pass()
    const bad = { bundle: () => ({ apns: ['bad'] }) }
    fake.services.set(policyRef.id, bad)
    assert.is(((await pass()) as { readonly state: string }).state, 'terminal')
    const count = world.engine.restarts.length
    const second = await fakeCore(world)
    assert.equal(await second.pass(), { state: 'converged' })
    second.fake.services.set(policyRef.id, bad)
    assert.is(((await second.pass()) as { readonly state: string }).state, 'terminal')
    assert.is(world.engine.restarts.length, count)
    await second.close()
  }))

test('tells of a refusal, does not try it again, not even after a restart, and goes on when something else is wanted', () =>
  inCore(async (world, { core, fake, pass, change }) => {
    await pass()
    const good = await core.appliedSha256()
    change({ tac: 666 })
    const outcome = await pass()
    assert.is((outcome as { readonly state: string }).state, 'terminal')
    const [health] = core.health()
    assert.equal([health?.status, health?.required], ['degraded', true])
    assert.match(health?.detail ?? '', /mme does not get well.*invalid value.*last good files are back/)
    assert.is(fake.metrics.value('svc_driver_core_a_apply_total', { result: 'refused' }), 1)
    assert.ok(fake.logs.some(({ level, message }) => level === 'error' && /refused/.test(message)))
    assert.is(fake.mutations.at(-1)?.action, 'core.config_refused')
    assert.is(await core.appliedSha256(), good)

    const count = world.engine.restarts.length
    const second = await fakeCore(world, { tac: 666 })
    assert.is(((await second.pass()) as { readonly state: string }).state, 'terminal')
    assert.match(second.core.health()[0]?.detail ?? '', /mme does not get well/)
    assert.is(world.engine.restarts.length, count)
    second.change({ tac: 666 }) // SIGHUP: once more
    await second.pass()
    assert.ok(world.engine.restarts.length > count)
    await second.close()

    change({ tac: 9 })
    assert.equal(await pass(), { state: 'converged' })
    assert.is(core.health()[0]?.status, 'ok')
  }))

test('backs off while the engine is away, and says so', () =>
  inCore(async (world, { core, fake, pass }) => {
    world.engine.mood = 'broken'
    const error = await failureOf(pass())
    assert.is(error.code, 'southbound_unavailable')
    assert.match(core.health()[0]?.detail ?? '', /answers 500/)
    assert.is(fake.metrics.value('svc_driver_core_a_apply_total', { result: 'failed' }), 1)
    world.engine.mood = 'well'
    assert.equal(await pass(), { state: 'converged' })
    assert.is(core.health()[0]?.status, 'ok')
  }))

test('gives up what cannot be rendered', () =>
  inCore(
    async (_world, { core, pass }) => {
      assert.is(((await pass()) as { readonly state: string }).state, 'terminal')
      assert.match(core.health()[0]?.detail ?? '', /tac 7 is not for this core/)
      const plan = await core.plan(never)
      assert.equal([plan.state, plan.problems], ['unknown', ['tac 7 is not for this core']])
    },
    {
      parts: {
        render: async () => {
          const { validationFailed } = await import('@steeple/contracts')
          throw validationFailed('tac 7 is not for this core')
        },
      },
    },
  ))

test('writes and restarts nothing under southbound.driver none, and says what would change', () =>
  inCore(
    async (world, { core, pass }) => {
      await writeFile(join(world.dir, 'hss.yaml'), 'theirs')
      assert.equal(await pass(), { state: 'converged' })
      const [health] = core.health()
      assert.equal([health?.status, health?.required], ['degraded', false])
      assert.match(health?.detail ?? '', /5 files in .* would change and upf, hss, mme, smf restart/)
      assert.is((await failureOf(core.apply(renderedOf(new Map()), never))).code, 'southbound_unavailable')
      assert.equal(await readdir(world.dir), ['hss.yaml'])
      assert.is(world.engine.restarts.length, 0)
      const plan = await core.plan(never)
      assert.equal([plan.state, plan.driver], ['changes', 'none'])
      // Somebody else puts the files there.
      const { mkdir } = await import('node:fs/promises')
      await mkdir(join(world.dir, 'freediameter'))
      for (const [path, content] of filesFor(core.desired())) await writeFile(join(world.dir, path), content)
      await pass()
      assert.is(core.health()[0]?.status, 'ok')
      assert.is((await core.plan(never)).state, 'in_sync')
    },
    { settings: { southbound: { driver: 'none' } } },
  ))

test('asks for a directory when none is configured', () =>
  inCore(
    async (_world, { core, pass, change }) => {
      assert.is(((await pass()) as { readonly state: string }).state, 'terminal')
      assert.match(core.health()[0]?.detail ?? '', /core_a\.config_dir is empty/)
      const plan = await core.plan(never)
      assert.is(plan.state, 'unknown')
      assert.is(plan.files.length, 5)
      assert.ok(plan.files.every(({ change: kind, diff }) => kind === 'added' && diff !== undefined))
      assert.is(await core.appliedSha256(), undefined)
      change({ core_a: { config_dir: 'relative/dir' } })
      await pass()
      assert.match(core.health()[0]?.detail ?? '', /must be an absolute path/)
      change({ southbound: { driver: 'none' }, core_a: { config_dir: '' } })
      await pass()
      assert.is(core.health()[0]?.status, 'ok')
    },
    { settings: { core_a: { config_dir: '' } } },
  ))

test('says which key names the container of a daemon that nobody restarts', () =>
  inCore(
    async (world, { core, pass }) => {
      await pass()
      assert.is(await world.read('mme.yaml'), 'plmn: 99999\ntac: 7\n')
      assert.is(core.health()[0]?.status, 'degraded')
      const problem = /nobody restarts hss, mme.*core_a\.containers\.hss, core_a\.containers\.mme/
      assert.match(core.health()[0]?.detail ?? '', problem)
      assert.match((await core.plan(never)).problems.join('\n'), problem)
    },
    // Overrides are laid over the containers of the world.
    {
      parts: {
        place: ({ core_a }) => ({
          configDir: core_a.config_dir,
          containers: { upf: 'c-upf', smf: 'c-smf' },
          addresses: {},
        }),
      },
    },
  ))

test('plans files, restarts in order, and how many subscribers drop', () =>
  inCore(
    async (_world, { core, pass, change }) => {
      await pass()
      assert.equal((await core.plan(never)).state, 'in_sync')
      assert.is((await core.plan(never)).subscribers_dropped, 0)
      change({ plmn: { mnc: '05' } })
      const plan = await core.plan(never)
      assert.is(plan.state, 'changes')
      assert.equal(
        plan.files.filter(({ change: kind }) => kind !== 'same').map(({ path, daemon }) => [path, daemon]),
        [['mme.yaml', 'mme']],
      )
      const diff = plan.files.find(({ path }) => path === 'mme.yaml')?.diff ?? ''
      assert.match(diff, /^--- a\/mme\.yaml\n\+\+\+ b\/mme\.yaml\n@@/)
      assert.match(diff, /\n-plmn: 99999\n\+plmn: 99905\n/)
      assert.equal(
        plan.daemons.map(({ name, action, drops }) => [name, action, drops]),
        [
          ['mme', 'restart', 'lte'],
          ['smf', 'restart', 'all'],
          ['upf', 'none', 'all'],
          ['hss', 'none', 'none'],
        ],
      )
      assert.match(plan.daemons[1]?.reason ?? '', /mme restarts, which leaves stale sessions behind/)
      assert.is(plan.subscribers_dropped, 5)
      assert.equal(plan.problems, [])
    },
    { parts: { ues: async (technology) => (technology === 'lte' ? phones(3, 2) : phones(5, 0)) } },
  ))

test('counts nobody when the core does not tell, and shows no identity', () =>
  inCore(
    async (_world, { core }) => {
      const plan = await core.plan(never)
      assert.is(plan.subscribers_dropped, null)
      assert.match(plan.problems.join('\n'), /the core does not tell how many subscribers/)
      assert.not.match(JSON.stringify(plan), /99999\d{10}/)
    },
    {
      parts: {
        ues: async () => {
          throw new Error(`cannot ask about ${phones(1, 0)[0]?.imsi}`)
        },
      },
    },
  ))

test('shows no password in a plan, also when it is the password that changes', () =>
  inCore(async (world, { core, pass }) => {
    const first = await core.plan(never)
    assert.not.match(JSON.stringify(first), /s3cret-word/)
    assert.match(JSON.stringify(first), /<redacted>@127\.0\.0\.1/)
    await pass()
    const there = await world.read('hss.yaml')
    await writeFile(join(world.dir, 'hss.yaml'), there.replace('s3cret-word', 'an0ther-word'))
    const plan = await core.plan(never)
    const diff = plan.files.find(({ path }) => path === 'hss.yaml')?.diff ?? ''
    assert.match(diff, /a secret value changes/)
    assert.not.match(diff, /ther-word|cret-word/)
    assert.match(plan.daemons[0]?.reason ?? '', /hss\.yaml is not what was applied/)
  }))

test('names a container that is not there and an engine that does not answer', () =>
  inCore(async (world, { core }) => {
    world.engine.remove('c-hss')
    assert.match(
      (await core.plan(never)).problems.join('\n'),
      /no container c-hss; see core_a\.containers\.hss/,
    )
    world.engine.mood = 'hang'
    const plan = await core.plan(never)
    assert.is(plan.state, 'changes')
    assert.match(plan.problems.join('\n'), /no answer within 500 ms/)
  }))

test('applies one set after the other when several are asked for at a time', () =>
  inCore(async (world, { core, pass }) => {
    const other = renderedOf(filesFor({ ...core.desired(), tac: 99 }))
    await Promise.all([core.apply(other, never), pass(), core.apply(other, never), pass()])
    assert.is(await core.appliedSha256(), renderedOf(filesFor(core.desired())).sha256)
    assert.is(world.running.get('mme')?.get('mme.yaml'), 'plmn: 99999\ntac: 7\n')
  }))

test.run()
