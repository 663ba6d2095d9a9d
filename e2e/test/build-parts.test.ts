import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite, type TempDir, tempDir } from '@steeple/testkit'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { makeBuild, run } from '../harness/builds/make-build.ts'
import { areRelated, filesWith, optionalPlugins, ownFiles, wordsOf } from '../harness/builds/words.ts'
import { walkConsole } from '../harness/console-walk.ts'
import { type Service, startService } from '../harness/service.ts'

/**
 * Words that stand elsewhere, and why. The contract has the catalogue of all error codes, and names routes as examples; alerts watches
 * a metric by its name where it is there; the lab's eUICC speaks ES9+ to any SM-DP+; the registry of nodes has routes of its own below
 * those by which nodes come and go; the TX gate says where radio profiles are configured.
 */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'alerts/dist/plugin.js': ['svc_esim_smdp_certificate_expires_seconds', 'esim_smdp_cert'],
  'contracts/dist/plugin.d.ts': ['/v1/sims/:imsi/quota'],
  // Changes that take no Idempotency-Key.
  'client/dist/index.js': ['/v1/mesh'],
  'nodes/dist/plugin.js': ['/v1/nodes/:id/enroll', '/v1/nodes/:id/leave'],
  'virtual-euicc/dist/index.js': ['/gsma/rsp2/es9plus', '/es9plus'],
}
/** Of these, what the service itself tells of. */
const TOLD: readonly string[] = [
  '/v1/nodes/:id/enroll',
  '/v1/nodes/:id/leave',
  'ran.profiles',
  'esim.enabled',
]
/** How many plugins one build lacks. */
const MOST_TOGETHER = 3
/** The one error of a build without a driver for the core that is configured. */
const NO_CORE = /no driver for core core_[ab] is running/

const parts = suite('e2e/build-parts', { limitMs: 600_000 })
const executable = findBrowser()
let temp: TempDir
let browser: Browser | undefined

parts.before(async () => {
  temp = await tempDir()
  if (executable !== undefined) browser = await openBrowser(executable)
})
parts.after(async () => {
  await browser?.close()
  await temp[Symbol.asyncDispose]()
})

/** The keys that a plugin alone reads. */
function ownKeys(name: string): readonly string[] {
  const others = optionalPlugins().filter((other) => other !== name)
  const theirs = new Set(others.flatMap((other) => wordsOf(other).keys))
  return wordsOf(name).keys.filter((key) => !theirs.has(key))
}

/** A configuration in which each of these keys is set, to what nobody would take. */
function nested(keys: readonly string[]): object {
  const root: Record<string, object> = {}
  for (const key of keys) {
    const path = key.split('.')
    const last = path.pop() ?? ''
    const group = path.reduce<Record<string, unknown>>((all, name) => {
      all[name] ??= {}
      return all[name] as Record<string, unknown> // made here
    }, root)
    group[last] = ['nobody']
  }
  return root
}

/**
 * Which plugins are left out together: up to three that have nothing to do with each other, so that what is wrong without one of them
 * is as wrong without all. The console is alone, since its pages are where the others are looked for.
 */
function leftOut(): readonly (readonly string[])[] {
  const groups = (names: readonly string[]): readonly (readonly string[])[] => {
    const [first, ...rest] = names
    if (first === undefined) return []
    const group = [first]
    for (const other of rest.toReversed())
      if (group.length < MOST_TOGETHER && !group.some((one) => areRelated(one, other))) group.push(other)
    return [group, ...groups(rest.filter((other) => !group.includes(other)))]
  }
  return [['console'], ...groups(optionalPlugins().filter((name) => name !== 'console'))]
}

/** Components that cannot even say how they are. */
async function failingChecks(service: Service): Promise<readonly string[]> {
  const { body } = await service.request('GET', '/v1/health')
  const components: readonly { readonly name: string; readonly detail: string }[] = body.components
  return components.filter(({ detail }) => detail === 'its health check fails').map(({ name }) => name)
}

parts('a database of subscribers without a core is away, and each part says how it is', async () => {
  const { program } = await makeBuild(join(temp.path, 'hss'), ['--only', 'driver-hss', '--node', 'named'])
  const service = await startService({
    program,
    dataDir: join(temp.path, 'hss-data'),
    env: { PATH: process.env.PATH },
  })
  try {
    await eventually(async () => {
      const { body } = await service.request('GET', '/v1/health')
      assert.match(JSON.stringify(body.components), 'no core is set up yet')
    })
    assert.equal(await failingChecks(service), [])
  } finally {
    assert.is(await service.stop(), 0)
  }
})

for (const names of leftOut())
  parts(
    `without ${names.join(' and ')} there is none of their words, and the rest serves, the console too`,
    async () => {
      const label = names.join('-')
      const { folder, program } = await makeBuild(join(temp.path, label), [
        '--without',
        names.join(','),
        '--node',
        'named',
      ])
      const own = names.flatMap((name) => wordsOf(name).own)
      const keys = names.flatMap((name) => wordsOf(name).keys)
      assert.equal(strayIn(folder, own), [])
      const env = { PATH: process.env.PATH, SVC_HSS_DRIVER: 'none' }
      const help = await run(program, ['completion', 'bash'], env)
      const file = join(temp.path, `${label}.yaml`)
      const set = names.map((name) => ({ name, keys: ownKeys(name) }))
      writeFileSync(file, JSON.stringify(nested(set.flatMap((one) => one.keys))))
      const flags = ['--config', file]
      const service = await startService({ program, dataDir: join(temp.path, `${label}-data`), env, flags })
      try {
        assert.is((await service.request('POST', '/v1/sims', { body: {} })).status, 201)
        const { body: document } = await service.request('GET', '/v1/openapi.json')
        const documents = ['configuration.md', 'html/llms-full.txt'].map((path) =>
          readFileSync(join(folder, 'share/doc', path), 'utf8'),
        )
        const told = [help.said, JSON.stringify(document), ...documents].join('\n')
        assert.equal(
          [...own, ...keys].filter(
            (word) => !TOLD.includes(word) && told.includes(word.replaceAll(/:(\w+)/g, '{$1}')),
          ),
          [],
        )
        const { body: listed } = await service.request('GET', '/v1/plugins?limit=100')
        const states: readonly { readonly name: string; readonly state: string }[] = listed.plugins
        assert.not(states.some((plugin) => names.includes(plugin.name)))
        assert.equal(
          states.filter(({ state }) => state === 'failed'),
          [],
        )
        if (browser !== undefined && !names.includes('console'))
          await walkConsole(browser, service, new Set(names))
        for (const one of set) {
          const warned = service.output().includes(`and this build has no ${one.name}: it has no effect`)
          assert.is(warned, one.keys.length > 0, `what is set for ${one.name} is a warning`)
        }
        assert.equal(errorsOf(service), [])
        assert.equal(await failingChecks(service), [])
      } finally {
        assert.is(await service.stop(), 0)
      }
      rmSync(folder, { recursive: true })
    },
  )

/** Words that are in files of a build, but where they stand for another reason. */
function strayIn(folder: string, words: readonly string[]): readonly string[] {
  const contents = ownFiles(folder)
  return words.flatMap((word) =>
    filesWith(folder, word, contents)
      .map((path) => path.replace('lib/node_modules/@steeple/', ''))
      .filter((path) => ELSEWHERE[path]?.includes(word) !== true)
      .map((path) => `${word} in ${path}`),
  )
}

function errorsOf(service: Service): readonly string[] {
  const lines = service.output().split('\n')
  return lines.filter((line) => line.includes('"level":"error"') && !NO_CORE.test(line))
}

parts.run()
