import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { assert, eventually, suite } from '@steeple/testkit'
import { MAIN } from '../harness/builds/program.ts'
import { ROOT } from '../harness/launch.ts'
import { type Registry, startRegistry } from '../harness/plugins/registry.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

interface Ran {
  readonly code: number | null
  /** What it printed on both streams. */
  readonly output: string
}

/** Runs lines as a person would type them in `cwd`, where `svc` is this build's; ends at the first that fails. */
function runLines(
  lines: string,
  cwd: string,
  binDir: string,
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  writeCommand(binDir, 'svc', MAIN)
  return new Promise((done, reject) => {
    const child = spawn('sh', ['-ec', lines], {
      cwd,
      env: {
        ...env,
        HOME: cwd,
        NO_COLOR: '1',
        PATH: [binDir, dirname(process.execPath), process.env.PATH].join(':'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.on('error', reject)
    child.on('close', (code) => done({ code, output }))
  })
}

function writeCommand(binDir: string, command: string, file: string): void {
  mkdirSync(binDir, { recursive: true })
  const path = join(binDir, command)
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@"\n`)
  chmodSync(path, 0o755)
}

/** What somebody writes who automates a box: TypeScript that Node runs as it is. */
const PROGRAM = `import { createClient, dataOf, type ItemOf } from '@steeple/client'

const steeple = createClient({ url: process.env.SVC_URL ?? '', token: process.env.SVC_ADMIN_TOKEN ?? '' })
const { issued } = dataOf(await steeple.post('/v1/sims', { body: { count: 2, label: 'from a script' } }))
const found: ItemOf<'/v1/sims'>[] = []
for await (const sim of steeple.rows('/v1/sims', { query: { limit: 1 } })) found.push(sim)
const missing = await steeple.get('/v1/sims/{imsi}', { path: { imsi: '0123456789ab' } })
console.log('issued', issued, 'found', found.filter(({ label }) => label?.startsWith('from a script') === true).length)
if (!missing.ok) console.log('problem', missing.error.code)
`
/** What no service has. */
const WRONG = `import { createClient } from '@steeple/client'

const steeple = createClient({ url: '' })
await steeple.get('/v1/moon')
await steeple.post('/v1/sims', { body: { count: 'two' } })
`
const OPTIONS = { target: 'es2023', types: ['node'], strict: true, noEmit: true, skipLibCheck: false }
/** How programs find what they import: as Node does, without anything of a browser, and as what bundles for one. */
const WAYS = {
  node: { ...OPTIONS, module: 'nodenext', lib: ['es2023'] },
  page: { ...OPTIONS, module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom', 'dom.iterable'] },
} as const

/** Makes the project of somebody who knows nothing but the package, in an empty folder. */
function writeClientProject(dir: string): void {
  mkdirSync(dir)
  const put = (name: string, content: string | object): void =>
    writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content))
  put('package.json', { name: 'automation', private: true, type: 'module' })
  put('program.ts', PROGRAM)
  put('wrong.ts', WRONG)
  for (const [name, compilerOptions] of Object.entries(WAYS)) {
    put(`tsconfig.${name}.json`, { compilerOptions, files: ['program.ts'] })
    put(`tsconfig.${name}.wrong.json`, { compilerOptions, files: ['wrong.ts'] })
  }
}

const scaffold = suite('e2e/plugin-new')
/** By what the command finds what is installed. */
const PLACE = '--config control.yaml'
const KINDS = ['core', 'hss', 'ran', 'collector', 'feature'] as const

let folder = ''
let trust = ''
let registry: Registry
let service: Service
scaffold.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-new-'))
  registry = await startRegistry(join(folder, 'registry'))
  const pack = join(ROOT, 'scripts/builds/pack.mjs')
  execFileSync(process.execPath, [pack, 'npm', '--out', join(folder, 'packed')], { stdio: 'pipe' })
  const { stdout } = await runSvc(['plugin', 'key', join(folder, 'plugins.key'), '--json'])
  trust = JSON.parse(stdout).trust
  choose({})
  service = await started()
})
scaffold.after(async () => {
  await registry?.close()
  if (service === undefined) return
  assert.is(await service.stop(), 0)
  rmSync(folder, { recursive: true, force: true })
})

const configFile = (): string => join(folder, 'control.yaml')
const started = (): Promise<Service> =>
  startService({ flags: ['--config', configFile()], dataDir: join(folder, 'data') })

/** What the operator has in the file: which drivers run in the place of those that come with the product. */
function choose(drivers: {
  readonly core?: string
  readonly hss?: { readonly driver: string }
  readonly ran?: { readonly driver: string }
}): void {
  const config = {
    southbound: { driver: 'container' },
    plugins: { trust: [trust] },
    ...drivers,
  }
  // JSON is YAML.
  writeFileSync(configFile(), JSON.stringify(config))
}

async function recordOf(
  name: string,
): Promise<{ kind: string; state: string; error: string | null } | undefined> {
  const { plugins } = (await service.request('GET', '/v1/plugins')).body
  return plugins.find((one: { readonly name: string }) => one.name === name)
}

function run(lines: string): Promise<Ran> {
  return runLines(lines, folder, join(folder, 'bin'), {
    SVC_ADMIN_TOKEN: service.adminToken,
    SVC_URL: service.url,
    SVC_SERVER_DATADIR: service.dataDir,
    ...registry.env,
  })
}

/** The commands that are printed after `Next`, but for the one that goes on until it is ended. */
function nextSteps(output: string): string {
  const lines = output.slice(output.indexOf('\nNext') + 1).split('\n')
  return lines.filter((line) => line.startsWith('  ') && !line.includes('svc plugin dev')).join('\n')
}

/** What the configuration says from the test of a kind on; the kinds that it lacks are not chosen among. */
const CHOICES: Readonly<Record<string, Parameters<typeof choose>[0]>> = {
  core: { core: 'my_core' },
  hss: { core: 'my_core', hss: { driver: 'my_hss' } },
  ran: { core: 'my_core', hss: { driver: 'my_hss' }, ran: { driver: 'my_ran' } },
}

for (const kind of KINDS)
  scaffold(
    `writes a ${kind} plugin that its printed commands build, test and load into the running service`,
    async () => {
      const name = `my-${kind}`
      const made = await run(`svc plugin new ${name} --kind ${kind} --packages packed`)
      assert.is(made.code, 0, made.output)
      const steps = nextSteps(made.output)
      assert.match(steps, /npm install\n[\s\S]*svc plugin load my-\w+-0\.1\.0\.tgz/)
      // What the first has installed is what the others would.
      const rest = kind === 'core' ? steps : steps.replace('npm install', 'ln -s ../my-core/node_modules .')

      const startedMs = performance.now()
      const isLeft = kind === 'core' || kind === 'hss'
      // Tests that say what is left to write keep nobody from loading what is there.
      const built = await run(isLeft ? rest.replace(/(npm test)/, '$1 || true') : rest)
      assert.is(built.code, 0, built.output)
      const counts = [...built.output.matchAll(/Total:\s+(\d+)\s+Passed:\s+(\d+)/g)]
      const total = counts.reduce((sum, [, count]) => sum + Number(count), 0)
      assert.ok(total > 0, built.output)
      const failed = total - counts.reduce((sum, [, , passed]) => sum + Number(passed), 0)
      assert.is(failed > 0, isLeft, built.output)
      assert.is(built.output.split('here is what to write: ').length - 1, failed, built.output)
      assert.match(built.output, /conformance/)
      assert.match(built.output, /^signed_by +plugins \([0-9a-f-]{19}\)$/m)

      const choice = CHOICES[kind]
      if (choice !== undefined) {
        // Installed, so that the configuration can name it; until it does the one before runs.
        const waiting = await recordOf(name)
        assert.is(waiting?.state, 'disabled', built.output)
        assert.match(
          waiting?.error ?? '',
          /it needs (core|hss\.driver|ran\.driver) to be my_(core|hss|ran), which is /,
        )
        choose(choice)
        service.child.kill('SIGHUP')
        await eventually(async () => (await recordOf(name))?.state === 'running')
      }
      const record = await recordOf(name)
      assert.equal([record?.kind, record?.state, record?.error], [kind, 'running', null], built.output)
      process.stdout.write(
        `\n# ${kind}: ${total} tests of the new package, built and loaded in ${Math.round(performance.now() - startedMs)} ms\n`,
      )
    },
  )

scaffold(
  'sets the new core to each change of the policy, plans for it, and answers as for any core',
  async () => {
    const file = join(service.dataDir, 'my-core/subscribers.json')
    for (const apns of [['one'], ['one', 'two'], ['three']]) {
      const { status } = await service.request('PUT', '/v1/policy', { body: { apns } })
      assert.is(status, 200)
      await eventually(async () => isDeepStrictEqual(JSON.parse(readFileSync(file, 'utf8')).apns, apns))
    }
    await eventually(async () => (await service.request('GET', '/v1/core/plan')).body.state === 'in_sync')
    const plan = (await service.request('GET', '/v1/core/plan')).body
    assert.equal([plan.core, plan.driver], ['my_core', 'container'])
    const { entries } = (await service.request('GET', '/v1/audit?action=core.config_apply')).body
    assert.ok(entries.length >= 3, JSON.stringify(entries))
  },
)

scaffold('refuses a driver that nobody has installed, and says which are', async () => {
  choose({ core: 'my_coer' })
  const { code, output } = await run(`svc config check ${configFile()}`)
  assert.is.not(code, 0)
  assert.match(output, /core must name an installed driver, one of .*my_core.*, not "my_coer"/, output)
  choose({ core: 'my_core', hss: { driver: 'my_hss' } })
})

scaffold(
  'serves the routes of the new feature, with roles, audit, table and expiry, and svc has its commands and its check',
  async () => {
    const path = '/v1/my-feature/notes'
    assert.equal((await service.request('GET', path)).body, { notes: [], next_cursor: null })
    const written = await service.request('PUT', `${path}/mast`, { body: { body: 'Climb with two.' } })
    assert.ok(written.status === 200 || written.status === 201, JSON.stringify(written.body))
    assert.is((await service.request('GET', `${path}/mast`)).body.body, 'Climb with two.')
    assert.is((await service.request('GET', `${path}/mast`, { token: undefined })).status, 401)
    const { entries } = (await service.request('GET', '/v1/audit?action=note.write')).body
    assert.equal(
      entries.map(({ target, outcome }: { readonly target: string; readonly outcome: string }) => [
        target,
        outcome,
      ]),
      [['mast', 'ok']],
    )
    await service.request('PUT', `${path}/brief`, { body: { body: 'Soon gone.', expires_in: '1s' } })
    const { output } = await run(`svc doctor --config ${configFile()}`)
    assert.match(output, /^ok {4}my-feature +has room for 1000 notes$/m)
    const used = await run(
      `echo "Mind the gap." | svc my-feature write gap ${PLACE} && svc my-feature list ${PLACE} && svc my-feature remove gap ${PLACE}`,
    )
    assert.match(used.output, /^gap +Mind the gap\. [\s\S]*^removed +true$/m)
    assert.match((await run(`svc completion bash ${PLACE}`)).output, /'my-feature write'/)
    // Its reconciler removes a note that has expired.
    await eventually(async () => (await service.request('GET', `${path}/brief`)).status === 404)
  },
)

scaffold(
  'loads the very same package again without a change, and refuses another build of the version',
  async () => {
    const again = await run('cd my-feature && svc plugin load my-feature-0.1.0.tgz')
    assert.is(again.code, 0, again.output)
    assert.match(again.output, /^version +0\.1\.0$/m)
    const other = await run(
      'cd my-feature && echo "// changed" >> dist/plugin.js && svc plugin load ./ --allow-unsigned',
    )
    assert.is.not(other.code, 0)
    assert.match(
      other.output,
      /plugin_state_conflict[\s\S]*give this one a new version|give this one a new version/,
    )
    const newer = await run(
      `cd my-feature && sed -i 's/"version": "0.1.0"/"version": "0.1.1"/' package.json && svc plugin load ./ --allow-unsigned`,
    )
    assert.is(newer.code, 0, newer.output)
    assert.match(newer.output, /0\.1\.1/)
    assert.is((await service.request('GET', '/v1/my-feature/notes/mast')).body.body, 'Climb with two.')
  },
)

scaffold('packs what can be published: whole, and nothing that only this repository has', async () => {
  const files = readdirSync(join(folder, 'packed')).filter((name) => name.endsWith('.tgz'))
  assert.equal(files.map((name) => name.replace(/^steeple-(.+)-[\d.]+\.tgz$/, '$1')).toSorted(), [
    'client',
    'contracts',
    'plugin-kit',
    'testkit',
  ])
  for (const file of files) {
    const { code, output } = await run(`npm publish ./packed/${file}`)
    assert.is(code, 0, output)
    const inside = (path: string): string =>
      execFileSync('tar', ['-xzOf', join(folder, 'packed', file), join('package', path)], {
        encoding: 'utf8',
      })
    const manifest = inside('package.json')
    assert.not.match(manifest, /workspace:|"private": true/)
    assert.match(manifest, /"access": "public"/)
    const { types, default: entry } = JSON.parse(manifest).exports['.']
    for (const path of ['LICENSE', 'README.md', types, entry]) assert.ok(inside(path).length > 0, path)
  }
})

scaffold(
  'the client, installed by its name in an empty folder, speaks to the service, and its types know what there is',
  async () => {
    writeClientProject(join(folder, 'automation'))
    const installed = await run('cd automation && npm install @steeple/client typescript @types/node')
    assert.is(installed.code, 0, installed.output)
    assert.not.match(installed.output, /warn/i)
    const ran = await run('cd automation && node program.ts')
    assert.is(ran.code, 0, ran.output)
    assert.match(ran.output, /^issued 2 found 2\nproblem sim_not_found$/m)
    for (const way of ['node', 'page']) {
      const right = await run(`cd automation && npx tsc -p tsconfig.${way}.json`)
      assert.is(right.code, 0, right.output)
      const wrong = await run(`cd automation && npx tsc -p tsconfig.${way}.wrong.json`)
      assert.is.not(wrong.code, 0)
      assert.match(wrong.output, /wrong\.ts[(:]4[\s\S]*wrong\.ts[(:]5/)
    }
  },
)

scaffold('says that a plugin lies where the service does not look', async () => {
  const written = await run('svc plugin new lost --kind feature && cp -r my-feature/dist lost/dist')
  assert.is(written.code, 0, written.output)
  const lost = await run('svc plugin load ./lost --allow-unsigned --data-dir ./elsewhere')
  assert.is(lost.code, 1)
  assert.match(lost.output, /plugin_not_found/)
  assert.match(lost.output, /the service looks elsewhere than in .*elsewhere\/plugins; .*--data-dir/)
})

scaffold('refuses to load an older folder in place of what runs', async () => {
  const older = await run(
    `cd my-feature && sed -i 's/"version": "0.1.1"/"version": "0.0.9"/' package.json && svc plugin load ./ --allow-unsigned`,
  )
  assert.is(older.code, 1, older.output)
  assert.match(older.output, /runs as 0\.1\.1; going back to 0\.0\.9 must be asked for as a rollback/)
})

scaffold('a start says where the new feature is', async () => {
  assert.is(await service.stop(), 0)
  service = await started()
  await eventually(async () =>
    service.output().includes(`  my-feature     ${service.url}/v1/my-feature/notes`),
  )
})

scaffold('no command runs of a plugin that was changed after it was installed', async () => {
  const { code, output } = await run(
    `for f in data/plugins/my-feature@*/dist/commands.js; do echo "// changed" >> $f; done; svc my-feature list ${PLACE}`,
  )
  assert.is(code, 2, output)
  assert.match(output, /unknown command 'my-feature'/)
})

scaffold.run()
