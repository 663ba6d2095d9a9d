import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { assert, failureOf, type Overrides, suite } from '@steeple/testkit'
import { renderedOf } from '../../src/config-set/files.ts'
import type { CoreFilesParts } from '../../src/core-files/core-set.ts'
import { type FakeCore, fakeCore, filesFor, phones } from '../support/small-core.ts'
import { makeWorld, type World } from '../support/world.ts'

const test = suite('southbound/core-files')
const never = new AbortController().signal

interface Setting {
  readonly settings?: Overrides<Settings>
  readonly parts?: Partial<CoreFilesParts>
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

test('puts a set in force, tells what it has done, and does it once', () =>
  inCore(async (world, { core, fake, apply, wanted, plan }) => {
    const done = await apply()
    assert.equal([...done.restarted].toSorted(), ['hss', 'mme', 'smf', 'upf'])
    assert.is(done.changed.length, 5)
    assert.is(world.running.get('mme')?.get('mme.yaml'), 'plmn: 99999\ntac: 7\n')
    assert.is(await core.appliedSha256(), wanted().sha256)
    assert.is(fake.metrics.value('svc_driver_core_a_restarts_total', { daemon: 'mme' }), 1)
    assert.is((await plan()).state, 'in_sync')
    const again = await apply()
    assert.equal([again.changed, again.restarted], [[], []])
    assert.is(world.engine.restarts.length, 4)
  }))

test('does not call a change that is being made one that was cut short', () => {
  const reasons: string[] = []
  const parts: Partial<CoreFilesParts> = {
    probe: async () => {
      for (const { reason } of (await look()).daemons) reasons.push(reason)
      return undefined
    },
  }
  let look: FakeCore['plan'] = () => Promise.reject(new Error('it is looked at before it is there'))
  return inCore(
    async (_world, { apply, plan }) => {
      look = plan
      await apply()
      assert.ok(reasons.includes('its files are being changed now'))
      assert.not.match(reasons.join(), /cut short/)
    },
    { parts },
  )
})

test('restarts only what another PLMN concerns', () =>
  inCore(async (world, { apply, change }) => {
    await apply()
    const count = world.engine.restarts.length
    change({ plmn: { mnc: '05' } })
    await apply()
    assert.equal(world.engine.restarts.slice(count), ['c-mme', 'c-smf'])
    assert.is(await world.read('mme.yaml'), 'plmn: 99905\ntac: 7\n')
  }))

test('says what the core has refused, also after a restart of the service, until something else was in force', () =>
  inCore(async (world, { core, apply, plan, change }) => {
    await apply()
    const good = await core.appliedSha256()
    change({ tac: 666 })
    assert.is((await failureOf(apply())).code, 'core_config_refused')
    assert.match((await plan()).refused ?? '', /mme does not get well.*invalid value/)
    assert.is(await core.appliedSha256(), good)
    const second = await fakeCore(world, { tac: 666 })
    assert.match((await second.plan()).refused ?? '', /mme does not get well/)
    assert.match((await second.plan()).problems.join(), /has refused this configuration at/)
    await second.close()
    change({ tac: 9 })
    assert.is((await plan()).refused, undefined)
    await apply()
    change({ tac: 666 })
    assert.is((await plan()).refused, undefined)
  }))

test('restarts a daemon and who follows it with the files that are in force, and nobody before there are any', () =>
  inCore(async (world, { core, fake, apply, change }) => {
    assert.equal(await core.restart(['mme'], 'a test', never), [])
    assert.equal((await core.planRestart(['mme'], never)).restarts, [])
    await apply()
    const count = world.engine.restarts.length
    // What the settings ask for by now is not what runs.
    change({ tac: 666 })
    assert.equal(await core.planRestart(['mme'], never), { restarts: ['mme', 'smf'], dropped: undefined })
    assert.equal(world.engine.restarts.length, count)
    assert.equal(await core.restart(['mme'], 'a test', never), ['mme', 'smf'])
    assert.equal(world.engine.restarts.slice(count), ['c-mme', 'c-smf'])
    assert.is(await world.read('mme.yaml'), 'plmn: 99999\ntac: 7\n')
    assert.equal(
      fake.mutations.map(({ action, principal }) => [action, principal.kind]),
      [['core.restart', 'system']],
    )
  }))

test('writes and restarts nothing under southbound.driver none, and says what would change', () =>
  inCore(
    async (world, { apply, plan, wanted }) => {
      await writeFile(join(world.dir, 'hss.yaml'), 'theirs')
      assert.is((await failureOf(apply())).code, 'southbound_unavailable')
      assert.equal(await readdir(world.dir), ['hss.yaml'])
      assert.is(world.engine.restarts.length, 0)
      assert.is((await plan()).state, 'changes')
      // Somebody else puts the files there.
      await mkdir(join(world.dir, 'freediameter'))
      for (const [path, content] of wanted().files) await writeFile(join(world.dir, path), content)
      assert.is((await plan()).state, 'in_sync')
    },
    { settings: { southbound: { driver: 'none' } } },
  ))

test('asks for a directory when none is configured, and shows no file that nobody could compare', () =>
  inCore(
    async (_world, { core, apply, plan, change }) => {
      assert.match((await failureOf(apply())).message, /core_a\.config_dir is empty/)
      const shown = await plan()
      assert.is(shown.state, 'unconfigured')
      assert.is(shown.files.length, 5)
      assert.ok(shown.files.every(({ change: kind, diff }) => kind === 'added' && diff === undefined))
      assert.match(shown.problems.join(), /name the directory/)
      assert.is(await core.appliedSha256(), undefined)
      change({ core_a: { config_dir: 'relative/dir' } })
      assert.match((await plan()).problems.join(), /must be an absolute path/)
    },
    { settings: { core_a: { config_dir: '' } } },
  ))

test('says which key names the container of a daemon that nobody restarts', () =>
  inCore(
    async (world, { apply, plan }) => {
      await apply()
      assert.is(await world.read('mme.yaml'), 'plmn: 99999\ntac: 7\n')
      const problem = /nobody restarts hss, mme.*core_a\.containers\.hss, core_a\.containers\.mme/
      assert.match((await plan()).problems.join('\n'), problem)
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
    async (_world, { apply, plan: planned, change }) => {
      await apply()
      assert.equal((await planned()).state, 'in_sync')
      assert.is((await planned()).dropped, 0)
      change({ plmn: { mnc: '05' } })
      const plan = await planned()
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
      assert.is(plan.dropped, 5)
      assert.equal(
        plan.daemons.map(({ name, dropped, expectedS }) => [name, dropped, expectedS]),
        [
          ['mme', 3, 3],
          ['smf', 5, 3],
          ['upf', 0, 0],
          ['hss', 0, 0],
        ],
      )
      assert.is(plan.expectedS, 21)
      assert.equal(plan.problems, [])
    },
    { parts: { ues: async (technology) => (technology === 'lte' ? phones(3, 2) : phones(5, 0)) } },
  ))

test('counts nobody when the core does not tell, and shows no identity', () =>
  inCore(
    async (_world, { plan: planned }) => {
      const plan = await planned()
      assert.is(plan.dropped, undefined)
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
  inCore(async (world, { apply, plan: planned }) => {
    const first = await planned()
    assert.not.match(JSON.stringify(first), /s3cret-word/)
    assert.match(JSON.stringify(first), /<redacted>@127\.0\.0\.1/)
    await apply()
    const there = await world.read('hss.yaml')
    await writeFile(join(world.dir, 'hss.yaml'), there.replace('s3cret-word', 'an0ther-word'))
    const plan = await planned()
    const diff = plan.files.find(({ path }) => path === 'hss.yaml')?.diff ?? ''
    assert.match(diff, /a secret value changes/)
    assert.not.match(diff, /ther-word|cret-word/)
    assert.match(plan.daemons[0]?.reason ?? '', /hss\.yaml is not what was applied/)
  }))

test('names a container that is not there and an engine that does not answer', () =>
  inCore(async (world, { plan: planned }) => {
    world.engine.remove('c-hss')
    assert.match(
      (await planned()).problems.join('\n'),
      /there is no container c-hss; see core_a\.containers\.hss/,
    )
    world.engine.mood = 'hang'
    const plan = await planned()
    assert.is(plan.state, 'changes')
    assert.match(plan.problems.join('\n'), /no answer within 3000 ms/)
  }))

test('applies one set after the other when several are asked for at a time', () =>
  inCore(async (world, { core, apply, wanted }) => {
    const desired = { plmn: { mcc: '999', mnc: '99' }, tac: 99, apns: ['internet'], maxUes: 128 }
    const other = renderedOf(filesFor(desired))
    await Promise.all([core.driver.apply(other, never), apply(), core.driver.apply(other, never), apply()])
    assert.is(await core.appliedSha256(), wanted().sha256)
    assert.is(world.running.get('mme')?.get('mme.yaml'), 'plmn: 99999\ntac: 7\n')
  }))

test.run()
