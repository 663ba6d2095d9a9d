import {
  type CommandHost,
  type CoreChanges,
  type CoreDesired,
  type CoreDriver,
  type CorePlan,
  coreChangesRef,
  coreConfigRefused,
  coreDriverRef,
  type Instance,
  type MutationTx,
  type PolicyReader,
  policyRef,
  type Rendered,
  type Settings,
  southboundUnavailable,
  subscribersRef,
  systemPrincipal,
  type Vault,
  validationFailed,
  vaultRef,
} from '@steeple/contracts'
import { assert, type FakeContext, fakeContext, memoryDb, type Overrides, suite } from '@steeple/testkit'
import { commands } from '../src/commands.ts'
import { plugin } from '../src/plugin.ts'

const test = suite('core-config')
const { signal } = new AbortController()

/** A core of somebody else: it has a text, refuses TAC 666, and tells of no plan. */
interface OtherCore {
  text: string
  applies: number
  isAway: boolean
  /** Keeps what it has refused in force, as a driver without a way back does. */
  keepsRefused: boolean
  plan: CoreDriver['plan']
  /** Where it keeps an edit by hand that each apply undoes. */
  undone?: string
  takeOver?: CoreDriver['takeOver']
  /** The operator's own files, where its directory is. */
  overlays?: { text: string; mark: string | undefined; isNew: boolean }
  /** While it renders. */
  meanwhile?: (() => Promise<void>) | undefined
}

function driverOf(core: OtherCore): CoreDriver {
  const shaOf = (text: string): string => Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64)
  return {
    render: async ({ plmn, tac, apns }: CoreDesired): Promise<Rendered> => {
      if (tac === 0) throw validationFailed('tac 0 is not for this core')
      const text = `${tac} ${apns.join(' ')} ${plmn.mcc}${plmn.mnc}`
      await core.meanwhile?.()
      return { files: new Map([['core.txt', text]]), sha256: shaOf(text) }
    },
    observe: async () => ({
      configSha256: core.text === '' ? undefined : shaOf(core.text),
      services: new Map(),
      radios: undefined,
      attachedUes: undefined,
    }),
    apply: async ({ files }) => {
      if (core.isAway) throw southboundUnavailable('the core is away')
      const text = files.get('core.txt') ?? ''
      core.applies += 1
      const isRefused = text.startsWith('666')
      if (!isRefused || core.keepsRefused) core.text = text
      if (isRefused) throw coreConfigRefused('it does not start with password=s3cret-word')
      return {
        ...{ changed: ['core.txt'], restarted: [] },
        ...(core.undone === undefined ? {} : { undone: { files: ['core.txt'], copy: core.undone } }),
      }
    },
    ...(core.plan === undefined ? {} : { plan: core.plan }),
    ...(core.overlays === undefined
      ? {}
      : {
          overlays: async () => ({ text: '', mark: undefined, isNew: true, ...core.overlays }),
          putOverlays: async (mark, text) => {
            core.overlays = { text: text ?? core.overlays?.text ?? '', mark, isNew: false }
          },
          restoreOriginal: async () => {
            core.overlays = { text: '', mark: undefined, isNew: true }
            return { copy: 'a', changed: [], restarted: [], problem: undefined }
          },
        }),
    ...(core.takeOver === undefined ? {} : { takeOver: core.takeOver }),
    kick: async () => 'not_attached',
    ues: async () => [],
  }
}

/** Turns every bit around. */
const turned = (octets: Uint8Array): Uint8Array => octets.map((octet) => octet ^ 0xff)
const VAULT: Vault = { keyId: 'k', register: () => undefined, seal: turned, open: turned }

interface Bed {
  readonly core: OtherCore
  readonly fake: FakeContext<unknown>
  readonly instance: Instance
  pass(): Promise<unknown>
  plan(query?: object): Promise<{ readonly [key: string]: unknown }>
  health(): Promise<readonly [string | undefined, string, boolean]>
  change(settings: Overrides<Settings>): void
}

async function inBed(
  work: (bed: Bed) => Promise<void>,
  more: Partial<OtherCore> = {},
  driver: Settings['southbound']['driver'] = 'container',
): Promise<void> {
  const core: OtherCore = {
    text: '',
    applies: 0,
    isAway: false,
    keepsRefused: false,
    plan: undefined,
    ...more,
  }
  const db = memoryDb(plugin.migrations)
  const settingsOf = (settings: Overrides<Settings>) => ({ southbound: { driver }, ...settings })
  const fake = fakeContext<unknown>({ id: 'core-config', config: {}, db, settings: settingsOf({}) })
  fake.services.set(policyRef.id, { bundle: () => ({ apns: ['internet'] }) })
  fake.services.set(coreDriverRef.id, driverOf(core))
  fake.services.set(vaultRef.id, VAULT)
  const instance = await plugin.setup(fake.context)
  const [reconciler] = instance.reconcilers ?? []
  const [route] = instance.routes ?? []
  try {
    await work({
      core,
      fake,
      instance,
      pass: async () => {
        const [key = ''] = (await reconciler?.keys()) ?? []
        const outcome = await reconciler?.reconcile([key], signal)
        return outcome === undefined || 'state' in outcome ? outcome : outcome.get(key)
      },
      plan: async (query = {}) =>
        (await route?.handle({ signal, query } as never))?.body as { readonly [key: string]: unknown },
      health: async () => {
        const [seen] = (await instance.health?.()) ?? []
        return [seen?.status, seen?.detail ?? '', seen?.required === true]
      },
      change: (settings) => fake.changeSettings(settingsOf(settings)),
    })
  } finally {
    await fake.dispose()
    db.close()
  }
}

test('sets a core of somebody else to what settings and policy ask for, at each change, and once', () =>
  inBed(async ({ core, fake, pass, change, health }) => {
    assert.equal(await pass(), { state: 'converged' })
    assert.is(core.text, '7 internet 99999')
    await pass()
    assert.is(core.applies, 1)
    await fake.provide(policyRef, { bundle: () => ({ apns: ['iot', 'ims'] }) } as unknown as PolicyReader)
    assert.equal(fake.enqueued, [{ resource: 'core_config', key: 'core' }])
    await pass()
    assert.is(core.text, '7 iot ims 99999')
    change({ tac: 8 })
    assert.is(fake.enqueued.length, 2)
    await pass()
    assert.is(core.text, '8 iot ims 99999')
    assert.is(core.applies, 3)
    assert.equal(await health(), ['ok', '1 file in force', true])
    assert.is(fake.metrics.value('svc_core_config_apply_total', { result: 'applied' }), 3)
    assert.equal(
      fake.mutations.map(({ action, detail }) => [action, detail.changed]),
      Array.from({ length: 3 }, () => ['core.config_apply', ['core.txt']]),
    )
  }))

test('tells of an edit by hand that was undone, and where it is kept', () =>
  inBed(
    async ({ fake, pass }) => {
      await pass()
      assert.equal(
        fake.mutations.slice(1).map(({ action, detail }) => [action, detail.files, detail.copy]),
        [['core.edit_undone', ['core.txt'], '/data/core-originals/core_a/1']],
      )
    },
    { undone: '/data/core-originals/core_a/1' },
  ))

test("keeps the operator's own files sealed in the store, and has them back in an empty place", () =>
  inBed(
    async ({ core, fake, pass }) => {
      const rows = () =>
        fake.context.db.all<{ content: Uint8Array }>('select content from core_config_overlays')
      await pass()
      assert.equal([await rows(), core.overlays?.mark], [[], undefined])
      core.overlays = { text: 'mongodb://core:s3cret-word@', mark: undefined, isNew: false }
      await pass()
      const [row] = await rows()
      assert.not.match(Buffer.from(row?.content ?? []).toString('latin1'), /s3cret-word/)
      const first = core.overlays.mark
      assert.ok(first !== undefined)
      core.overlays = { text: 'edited', mark: first, isNew: false }
      await pass()
      assert.is(core.overlays.text, 'edited')
      assert.is.not(core.overlays.mark, first)
      core.overlays = { text: '', mark: undefined, isNew: true }
      await pass()
      assert.is(core.overlays.text, 'edited')
      assert.is(fake.mutations.at(-1)?.action, 'core.overlays_restored')
      core.overlays = { text: 'of later', mark: 'later', isNew: false }
      await pass()
      assert.is(core.overlays.text, 'edited', 'an older store was restored')
      core.overlays = { text: '', mark: undefined, isNew: false }
      await pass()
      assert.equal([await rows(), core.overlays.text], [[], ''], 'the operator has removed them')
    },
    { overlays: { text: '', mark: undefined, isNew: true } },
  ))

test('forgets the files of the operator once everything is as it was before', () =>
  inBed(
    async ({ core, instance, fake, pass }) => {
      await pass()
      const restore = instance.routes?.find(({ path }) => path === '/v1/core/restore-original')
      const mutate = (_target: string, work: (tx: MutationTx) => Promise<void>) =>
        fake.context.mutate(systemPrincipal('test'), 'core.restore_original', 'core', work)
      await restore?.handle({ body: {}, signal, mutate } as never)
      await pass()
      assert.is(core.overlays?.text, '')
    },
    { overlays: { text: 'theirs', mark: undefined, isNew: false } },
  ))

test('plans by the hash where the driver tells no more, and says so', () =>
  inBed(async ({ pass, plan, change }) => {
    const first = await plan()
    assert.equal([first.core, first.state, first.files], ['core_a', 'changes', []])
    assert.match(String(first.notes), /does not tell which daemons/)
    await pass()
    assert.is((await plan()).state, 'in_sync')
    change({ tac: 0 })
    const impossible = await plan()
    assert.equal([impossible.state, impossible.problems], ['unknown', ['tac 0 is not for this core']])
  }))

test('tells before a change is made what it would do, and leaves everything as it is', () =>
  inBed(async ({ core, plan, pass, fake }) => {
    await pass()
    assert.is((await plan({ mcc: '999', mnc: '99', tac: 7, apns: 'internet' })).state, 'in_sync')
    for (const change of [{ mcc: '262' }, { mnc: '98' }, { tac: 8 }, { apns: 'internet,ims' }])
      assert.is((await plan(change)).state, 'changes', JSON.stringify(change))
    const impossible = await plan({ tac: 0 })
    assert.equal([impossible.state, impossible.problems], ['unknown', ['tac 0 is not for this core']])
    assert.is((await plan()).state, 'in_sync')
    await pass()
    assert.equal([core.text, core.applies, fake.enqueued], ['7 internet 99999', 1, []])
  }))

test("hands the driver's own plan the set that would be", () => {
  const seen: (string | undefined)[] = []
  const told = async ({ files }: Rendered): Promise<CorePlan> => {
    seen.push(files.get('core.txt'))
    return {
      ...{
        dir: '/srv/core',
        state: 'changes',
        files: [],
        daemons: [],
        dropped: undefined,
        expectedS: undefined,
      },
      ...{ notes: [], problems: [], refused: undefined },
    }
  }
  return inBed(
    async ({ plan }) => {
      const { subscribers_dropped: dropped, expected_s: seconds } = await plan({ mcc: '262', apns: 'iot' })
      assert.equal([dropped, seconds], [null, null])
      assert.equal(seen, ['7 iot 26299'])
    },
    { plan: told },
  )
})

test("shows the driver's own plan", () => {
  const own: CorePlan = {
    dir: '/srv/core',
    state: 'changes',
    files: [{ path: 'a.yaml', change: 'changed', daemon: undefined, diff: '-1\n+2\n' }],
    daemons: [
      {
        name: 'mme',
        container: 'm',
        action: 'restart',
        drops: 'lte',
        reason: 'a',
        dropped: undefined,
        expectedS: 3,
      },
    ],
    dropped: undefined,
    expectedS: 18,
    notes: [],
    problems: [],
    refused: undefined,
  }
  return inBed(
    async ({ plan, pass, core, health }) => {
      const shown = await plan()
      assert.equal(shown.daemons, [
        {
          name: 'mme',
          container: 'm',
          action: 'restart',
          drops: 'lte',
          reason: 'a',
          subscribers_dropped: null,
          expected_s: 3,
        },
      ])
      assert.equal(shown.files, [{ path: 'a.yaml', change: 'changed', daemon: null, diff: '-1\n+2\n' }])
      assert.equal([shown.config_dir, shown.subscribers_dropped, shown.expected_s], ['/srv/core', null, 18])
      await pass()
      assert.is(core.applies, 0)
      assert.equal(await health(), [
        'degraded',
        'southbound.driver is none: 1 file in /srv/core would change and mme restarts; see GET /v1/core/plan',
        false,
      ])
    },
    { plan: async () => own },
    'none',
  )
})

const FILES_ALONE: CorePlan = {
  dir: '/srv/core',
  state: 'changes',
  files: [{ path: 'a.yaml', change: 'changed', daemon: undefined, diff: undefined }],
  daemons: [],
  dropped: 0,
  expectedS: 0,
  notes: [],
  problems: [],
  refused: undefined,
}
/** As a driver in plain JavaScript may give it. */
const WORDLESS = { name: 'core', container: undefined, drops: 'none', reason: '', dropped: 0, expectedS: 0 }

for (const [what, own, action, daemons] of [
  ['nothing restarts', FILES_ALONE, 'none', []],
  [
    'a daemon has no action',
    { ...FILES_ALONE, daemons: [WORDLESS] } as unknown as CorePlan,
    'none',
    ['none'],
  ],
  ['all is in force', { ...FILES_ALONE, state: 'in_sync', files: [] } as CorePlan, 'none', []],
  ['nothing is compared', { ...FILES_ALONE, state: 'unknown', files: [] } as CorePlan, 'unknown', []],
] as const)
  test(`says ${action} where ${what}`, () =>
    inBed(
      async ({ plan, pass, health }) => {
        const shown = await plan()
        const actions = (shown.daemons as readonly { readonly action: string }[]).map((one) => one.action)
        assert.equal([shown.action, actions], [action, daemons])
        if (own !== FILES_ALONE) return
        await pass()
        assert.match((await health())[1], '1 file in /srv/core would change and nothing restarts;')
      },
      { plan: async () => own },
      'none',
    ))

test('applies nothing over files of others until an operator agrees to exactly these, and audits that', () => {
  let held: readonly string[] = ['mme.yaml']
  const problems = ['this service did not write mme.yaml']
  const plan = async (): Promise<CorePlan> => ({
    ...FILES_ALONE,
    ...(held.length === 0 ? {} : { held, problems }),
    originals: held.length === 0 ? ['/data/core-originals/core_a/c'] : [],
  })
  const takeOver = async (_set: Rendered, files: readonly string[]): Promise<string> => {
    if (files.join() !== held.join()) throw validationFailed('name exactly these')
    held = []
    return '/data/core-originals/core_a/c'
  }
  return inBed(
    async ({ core, fake, instance, pass, health, plan: shown }) => {
      const post = async (files: readonly string[]): Promise<unknown> => {
        const route = instance.routes?.find(({ path }) => path === '/v1/core/take-over')
        const mutate = async (target: string, work: (tx: MutationTx) => Promise<unknown>): Promise<void> =>
          await fake.context.mutate(systemPrincipal('test'), 'core.take_over', target, async (tx) => {
            await work(tx)
          })
        const request = { signal, body: { files }, mutate }
        return (await route?.handle(request as never))?.body
      }
      assert.equal(await pass(), { state: 'converged' }, 'it is looked at again')
      assert.equal([core.applies, (await shown()).held], [0, ['mme.yaml']])
      assert.equal(await health(), ['degraded', 'this service did not write mme.yaml', true])
      assert.match(String(await post(['smf.yaml']).catch((error: unknown) => error)), /name exactly these/)
      assert.equal(await post(['mme.yaml']), { files: ['mme.yaml'], copy: '/data/core-originals/core_a/c' })
      assert.equal(fake.enqueued, [{ resource: 'core_config', key: 'core' }])
      assert.equal(fake.mutations.at(-1)?.detail.files, ['mme.yaml'])
      await pass()
      assert.is(core.applies, 1)
      assert.match((await health())[1], /kept in \/data\/core-originals\/core_a\/c$/)
    },
    { plan, takeOver },
  )
})

test('says in a plan that another network number leaves SIMs behind', () =>
  inBed(async ({ fake, plan }) => {
    fake.services.set(subscribersRef.id, {
      misfits: async (plmn: string) => (plmn === '999-99' ? undefined : `2 SIMs are not of ${plmn}`),
    })
    assert.not.match(String((await plan()).notes), /SIMs/)
    assert.match(String((await plan({ mcc: '262', mnc: '98' })).notes), /2 SIMs are not of 262-98/)
  }))

test('tells no action of a driver that tells no plan and wants something else', () =>
  inBed(async ({ plan }) => assert.equal((await plan()).action, 'unknown')))

test('does not try again what the core refused until something else is wanted or SIGHUP comes', () =>
  inBed(async ({ core, fake, pass, change, health }) => {
    await pass()
    change({ tac: 666 })
    assert.is(((await pass()) as { state: string }).state, 'terminal')
    assert.is(((await pass()) as { state: string }).state, 'terminal')
    assert.is(core.applies, 2)
    assert.match((await health())[1], /does not start/)
    assert.not.match(JSON.stringify([fake.logs, fake.mutations, await health()]), /s3cret-word/)
    assert.is(fake.mutations.at(-1)?.action, 'core.config_refused')
    assert.is(core.text, '7 internet 99999')
    change({ tac: 666 }) // SIGHUP
    await pass()
    assert.is(core.applies, 3)
    change({ tac: 9 })
    assert.equal(await pass(), { state: 'converged' })
    assert.is(core.text, '9 internet 99999')
  }))

test('takes back what the core refused and its driver has left in force', () =>
  inBed(
    async ({ core, pass, change, health }) => {
      await pass()
      change({ tac: 666 })
      assert.is(((await pass()) as { state: string }).state, 'terminal')
      assert.is(core.text, '7 internet 99999')
      assert.match((await health())[1], /The last good configuration is back/)
      // Another look keeps the whole story.
      await pass()
      assert.match((await health())[1], /does not start.*The last good configuration is back/)
    },
    { keepsRefused: true },
  ))

test('backs off while the core is away, and goes on when it is back', () =>
  inBed(async ({ core, fake, pass, health }) => {
    core.isAway = true
    const error = await pass().then(
      () => undefined,
      (reason: Error) => reason,
    )
    assert.match(error?.message ?? '', /the core is away/)
    assert.equal((await health()).slice(0, 2), ['degraded', 'the core is away'])
    assert.is(fake.metrics.value('svc_core_config_apply_total', { result: 'failed' }), 1)
    core.isAway = false
    assert.equal(await pass(), { state: 'converged' })
  }))

test('sets the core to nothing while the policy cannot be read', () =>
  inBed(async ({ core, fake, pass }) => {
    await pass()
    fake.services.set(policyRef.id, {
      bundle: () => {
        throw new Error('the policy is damaged')
      },
    })
    const error = await pass().then(
      () => undefined,
      (reason: Error) => reason,
    )
    assert.match(error?.message ?? '', /the policy is damaged/)
    assert.equal([core.text, core.applies], ['7 internet 99999', 1])
  }))

test('applies nothing that is not wanted any more once it is rendered', () =>
  inBed(async ({ core, fake, pass }) => {
    core.meanwhile = async () => {
      core.meanwhile = undefined
      await fake.provide(policyRef, { bundle: () => ({ apns: ['iot'] }) } as unknown as PolicyReader)
    }
    assert.equal(await pass(), { state: 'converged' })
    assert.equal([core.text, core.applies], ['7 iot 99999', 1])
  }))

test('looks at the core at once when another driver comes, and says when there is none', () =>
  inBed(async ({ fake, pass, plan, health }) => {
    await pass()
    const next: OtherCore = { text: '', applies: 0, isAway: false, keepsRefused: false, plan: undefined }
    await fake.provide(coreDriverRef, driverOf(next))
    assert.is(fake.enqueued.length, 1)
    await pass()
    assert.is(next.text, '7 internet 99999')
    fake.services.delete(coreDriverRef.id)
    assert.is(((await pass()) as { state: string }).state, 'converged')
    assert.match((await health())[1], /no driver for core core_a is running/)
    const { state, problems } = await plan()
    assert.equal(
      [state, problems],
      ['unknown', ['no driver for core core_a is running: GET /v1/plugins says why']],
    )
  }))

test('keeps what it changes in the core, from before the restarts, and says what other settings would do', () => {
  const daemons = (['smf', 'amf'] as const).map((name) => ({
    ...{ name, container: name, action: name === 'smf' ? ('restart' as const) : ('none' as const) },
    ...{ drops: 'all' as const, reason: '', dropped: 2, expectedS: 3 },
  }))
  const files = [{ path: 'smf.yaml', change: 'changed' as const, daemon: 'smf', diff: undefined }]
  const plan: CorePlan = {
    ...{ dir: '/etc/core', state: 'changes', files, daemons, dropped: 2, expectedS: 45 },
    ...{ notes: ['a note'], problems: [], refused: undefined },
  }
  const asked: (Settings | undefined)[] = []
  return inBed(
    async ({ core, fake, instance, pass }) => {
      const changes = instance.services?.get(coreChangesRef.id) as CoreChanges
      assert.is(changes.last(), undefined)
      await pass()
      const sinceMs = fake.clock.nowMs()
      const work = { files: ['smf.yaml'], daemons: ['smf'], sinceMs, untilMs: sinceMs + 45_000 }
      assert.equal(changes.last(), work)
      core.isAway = true
      await fake.clock.advance(1_000)
      await pass().catch(() => undefined)
      assert.is(changes.last()?.untilMs, sinceMs + 1_000, 'a change that fails is no work any more')
      const other = { ...fake.context.settings, tac: 9 }
      const outlook = { restarts: ['smf'], dropped: 2, expectedS: 45, notes: ['a note'], problems: [] }
      assert.equal(await changes.outlook({ settings: other }, signal), outlook)
      assert.is(asked.at(-1)?.tac, 9)
      assert.equal((await changes.outlook({ settings: { ...other, tac: 0 } }, signal))?.problems, [
        'tac 0 is not for this core',
      ])
      const looking = { ...other, southbound: { ...other.southbound, driver: 'none' as const } }
      assert.is(await changes.outlook({ settings: looking }, signal), undefined)
    },
    {
      plan: async (_set, _signal, settings) => {
        asked.push(settings)
        return plan
      },
    },
  )
})

test('has files that are put back as work for as long as the daemons take, and not once that has failed', () =>
  inBed(async ({ core, fake, instance }) => {
    const changes = instance.services?.get(coreChangesRef.id) as CoreChanges
    const restarts = Array.from({ length: 12 }, (_, index) => `d${index}`)
    const back = { copy: 'a', changed: ['smf.yaml'] }
    const restored = async (restoreOriginal: NonNullable<CoreDriver['restoreOriginal']>) => {
      const driver: CoreDriver = {
        ...driverOf(core),
        planRestore: async () => ({ ...back, restarts, dropped: 2 }),
        restoreOriginal,
      }
      fake.services.set(coreDriverRef.id, driver)
      const restore = instance.routes?.find(({ path }) => path === '/v1/core/restore-original')
      const mutate = (_target: string, work: (tx: MutationTx) => Promise<void>) =>
        fake.context.mutate(systemPrincipal('test'), 'core.restore_original', 'core', work)
      await restore?.handle({ body: {}, signal, mutate } as never)
    }
    const sinceMs = fake.clock.nowMs()
    await restored(async () => ({ ...back, restarted: restarts, problem: undefined }))
    const work = { files: ['smf.yaml'], daemons: restarts, sinceMs, untilMs: sinceMs + 51_000 }
    assert.equal(changes.last(), work)
    await restored(async () => ({ ...back, restarted: ['d0'], problem: 'd1 does not start' }))
    assert.is(changes.last()?.untilMs, sinceMs, 'a daemon does not start')
    const away = restored(async () => {
      throw southboundUnavailable('the core is away')
    })
    assert.is(await away.catch(({ message }: Error) => message), 'the core is away')
    assert.is(changes.last()?.untilMs, sinceMs, 'nothing came back')
  }))

test('says what a reload of the configuration file would do to the core', async () => {
  const told = async (core: object | null): Promise<readonly [string, unknown]> => {
    const said: string[] = []
    let asked: unknown
    const host = {
      ...{ typed: { reload: true }, isJson: false, printable: (text: string) => text },
      ...{ out: (text: string) => said.push(text), err: (text: string) => said.push(text) },
      call: async (operation: string, request: object) => {
        asked = [operation, request]
        return { file: '/etc/svc/control.yaml', core }
      },
    }
    await commands['core plan']?.(host as unknown as CommandHost)
    return [said.join(''), asked]
  }
  const [nothing, asked] = await told(null)
  assert.match(nothing, /the core does not change/)
  assert.equal(asked, ['PUT /v1/settings', { query: { dry_run: true }, body: { settings: {} } }])
  const cost = { restarts: ['smf'], subscribers_dropped: 2, notes: ['mind the pool'], problems: ['no room'] }
  const [words] = await told(cost)
  assert.match(words, /smf restarts, which cuts off 2 phones\.\nNote: mind the pool\nProblem: no room/)
  const [unsure] = await told({ ...cost, restarts: [], subscribers_dropped: null })
  assert.match(unsure, /the effect on the core is not known\./)
})

test('changes what phones are told only after a yes where phones lose the network by it', async () => {
  const told = async (typed: object, core: object | null, writable = true) => {
    const [said, puts]: [string[], unknown[]] = [[], []]
    const host = {
      ...{
        typed,
        isJson: false,
        printable: (text: string) => text,
        answer: (code: number) => said.push(` ${code}`),
      },
      ...{ out: (text: string) => said.push(text), err: (text: string) => said.push(text) },
      ...{ printRecord: (record: object) => said.push(JSON.stringify(record)) },
      ...{ usage: (text: string) => new Error(text), failure: (_: string, text: string) => new Error(text) },
      call: async (_operation: string, request: { readonly query?: object; readonly body: object }) => {
        if (request.query === undefined) puts.push(request.body)
        return { file: '/f', lines: 'core_a: …', writable, core }
      },
    }
    await commands['core set']?.(host as unknown as CommandHost)
    return [said.join(''), puts] as const
  }
  const typed = { dns: '1.1.1.1, 9.9.9.9', networkName: 'Harbour' }
  const cost = { restarts: ['smf'], subscribers_dropped: 2, notes: [], problems: [] }
  const settings = { 'core_a.network_name': 'Harbour', 'core_a.dns': ['1.1.1.1', '9.9.9.9'] }
  const [asked, nothing] = await told(typed, cost)
  assert.match(asked, /smf restarts, which cuts off 2 phones\. Nothing was changed\. To do it, add --yes\n 1/)
  assert.equal(nothing, [])
  assert.equal((await told({ ...typed, yes: true }, cost))[1], [{ settings }])
  assert.equal((await told(typed, null))[1], [{ settings }])
  assert.equal((await told(typed, { ...cost, subscribers_dropped: 0 }))[1], [{ settings }])
  const quiet = { restarts: [], subscribers_dropped: 0, notes: ['mind the pool'], problems: ['no room'] }
  const [noted, put] = await told(typed, quiet)
  assert.match(noted, /Note: mind the pool\nProblem: no room/, 'nothing restarts, and that is not all')
  assert.equal(put, [{ settings }])
  const unknown = { restarts: [], subscribers_dropped: null, notes: [], problems: ['the core is away'] }
  const [unsure, none] = await told(typed, unknown)
  assert.match(unsure, /not known\. Nothing was changed\. To do it, add --yes\nProblem: the core is away\n 1/)
  assert.equal(none, [])
  assert.equal((await told({ ...typed, yes: true }, unknown))[1], [{ settings }])
  const refused = async (...args: Parameters<typeof told>) =>
    await told(...args).then(
      () => '',
      ({ message }: Error) => message,
    )
  assert.match(await refused(typed, null, false), 'Write these lines into it, then reload it')
  assert.match(await refused({}, null), 'say what to change: --network-name or --dns')
})

test('takes over no core that it drives already with settings by which that one would restart', async () => {
  const [said, asked]: [string[], unknown[]] = [[], []]
  const cost = { restarts: ['mme', 'amf'], subscribers_dropped: 3, notes: [], problems: [] }
  const found = { core: 'core_a', settings: { tac: 1 }, drive: {}, apns: null, files: [] }
  const host = {
    ...{ typed: { yes: true }, isJson: false, printable: (text: string) => text },
    ...{ answer: (code: number) => said.push(` ${code}`), err: (text: string) => said.push(text) },
    call: async (operation: string, request: object) => {
      asked.push([operation, request])
      if (operation === 'GET /v1/core/found') return found
      return { driver: 'systemd', file: '/etc/svc/control.yaml', core: cost }
    },
  }
  await commands['core adopt']?.(host as unknown as CommandHost)
  assert.match(
    said.join(''),
    /mme, amf restart, which cuts off 3 phones.*Nothing was changed.*tac: 1\n.* 1$/s,
  )
  const dry = { query: { found: true, dry_run: true }, body: { settings: { tac: 1 } } }
  assert.equal(asked.at(-1), ['PUT /v1/settings', dry])
})

test('asks for the plan of a change before it is made', async () => {
  const asked: unknown[] = []
  const host = {
    ...{ typed: { apns: 'internet,iot', tac: '9' }, isJson: true, printRecord: () => undefined },
    call: async (_operation: string, { query }: { readonly query: object }) => {
      asked.push(JSON.parse(JSON.stringify(query)))
      return { state: 'in_sync', files: [], daemons: [] }
    },
  }
  await commands['core plan']?.(host as unknown as CommandHost)
  assert.equal(asked, [{ apns: 'internet,iot', tac: '9' }])
})

test('restarts only after a yes where phones lose the network by it', async () => {
  const calls = async (dropped: number | null, yes?: true): Promise<readonly [string, ...unknown[]]> => {
    const [said, bodies]: [string[], unknown[]] = [[], []]
    const host = {
      ...{ typed: { yes }, answer: (code: number) => said.push(` ${code}`), printRecord: () => undefined },
      ...{ printable: (text: string) => text, err: (text: string) => said.push(text) },
      call: async (_operation: string, { body }: { readonly body: object }) => {
        bodies.push(body)
        return { restarted: ['sgwu', 'smf'], subscribers_dropped: dropped }
      },
    }
    await commands['core restart']?.(host as unknown as CommandHost)
    return [said.join(''), ...bodies]
  }
  const dry = { dry_run: true }
  assert.equal(await calls(0), ['', dry, {}])
  assert.equal(await calls(2, true), ['', {}])
  const words = 'Nothing was changed. To do it: svc core restart --yes\n 1'
  assert.equal(await calls(2), [`sgwu, smf restart, which cuts off 2 phones. ${words}`, dry])
  assert.equal(await calls(null), [
    `sgwu, smf restart, which cuts off an unknown number of phones. ${words}`,
    dry,
  ])
})

test('names the folder of a core that it would leave, and none where no folder is known', async () => {
  const told = async (
    plan: {
      readonly config_dir: string
      readonly originals?: string[]
      readonly state?: string
      readonly problems?: string[]
    },
    back: object = { changed: ['hss.yaml'], restarted: ['hss', 'pcrf'], subscribers_dropped: 3 },
    subscribers: object = { subscribers: 2, others: null, rates: 0 },
  ): Promise<string> => {
    const said: string[] = []
    const answers: Readonly<Record<string, object>> = {
      'GET /v1/core/plan': { state: 'in_sync', held: [], files: [], daemons: [], ...plan },
      'POST /v1/sims/release': { blocked: 1, blocked_ids: ['0123456789ab'], ...subscribers },
      'POST /v1/core/restore-original': { edits: [], kept: null, left: [], ...back },
      'PUT /v1/settings': { lines: '', writable: true },
    }
    const host = {
      ...{ typed: {}, isJson: false, answer: () => undefined, printable: (text: string) => text },
      call: async (operation: string) => answers[operation],
      err: (text: string) => said.push(text),
      failure: (_: string, text: string) => new Error(text),
    }
    await commands['core release']?.(host as unknown as CommandHost)
    return said.join('')
  }
  const unread = { config_dir: '/srv/core', state: 'unknown', problems: ['overlays/ausf.yaml is not UTF-8'] }
  const refused = await told(unread).catch(({ message }: Error) => message)
  assert.match(refused, /nothing is put back: overlays\/ausf\.yaml is not UTF-8/)
  assert.match(
    await told({ config_dir: '/srv/core' }),
    /1 suspended SIM \(0123456789ab\)\. To let .*--unblock/,
  )
  assert.match(await told({ config_dir: '/srv/core' }), '- the files in /srv/core stay as they are\n')
  const kept = { config_dir: '/srv/core', originals: ['/data/a'] }
  assert.match(
    await told(kept),
    '- files that come back as they were: hss.yaml (/data/a); hss, pcrf restart, which cuts off 3 phones\n',
  )
  assert.match(
    await told(kept, { changed: [], restarted: [], subscribers_dropped: 0 }),
    '- the files are as they were before, and nothing restarts\n',
  )
  assert.match(await told({ config_dir: '' }), "- the core's files stay as they are\n")
  const edited = { edits: ['smf.yaml', 'overlays/upf.yaml'], kept: '/data/copies', left: ['overlays/a.txt'] }
  const words = await told(kept, { changed: [], restarted: [], subscribers_dropped: 0, ...edited })
  assert.match(
    words,
    '- edits by hand that are undone: smf.yaml, overlays/upf.yaml; a copy is kept in /data/copies\n',
  )
  assert.match(words, '- files that are yours and stay: overlays/a.txt\n')
  assert.match(words, '- 2 subscribers of this service will stay in the core, and all that are not of this')
  const before = { subscribers: 0, others: 200, rates: 0, blocked: 0 }
  assert.match(
    await told({ config_dir: '' }, {}, before),
    '- 0 subscribers of this service will stay in the core, and 200 that are not of this service\n',
  )
})

test.run()
