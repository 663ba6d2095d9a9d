import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { linkDependencies, type Ran, runLines } from '../harness/plugins/scaffold.ts'
import { type Service, startService } from '../harness/service.ts'

const scaffold = suite('e2e/plugin-new')
const KINDS = ['core', 'hss', 'ran', 'collector', 'feature'] as const

let folder = ''
let service: Service
scaffold.before(
  async () => {
    folder = mkdtempSync(join(tmpdir(), 'steeple-new-'))
    // A new driver takes the place of the one that comes with the product.
    service = await startService({ env: { SVC_PLUGINS_DISABLED: 'driver-core-a,driver-hss,driver-ran' } })
  },
  { limitMs: 30_000 },
)
scaffold.after(
  async () => {
    if (service === undefined) return
    assert.is(await service.stop(), 0)
    rmSync(folder, { recursive: true, force: true })
  },
  { limitMs: 20_000 },
)

function run(lines: string): Promise<Ran> {
  return runLines(lines, folder, join(folder, 'bin'), {
    SVC_ADMIN_TOKEN: service.adminToken,
    SVC_URL: service.url,
    SVC_SERVER_DATADIR: service.dataDir,
  })
}

/** The commands that are printed after `Next:`, and the one among them that needs a network. */
function nextSteps(output: string): { readonly install: string; readonly rest: string } {
  const lines = output
    .slice(output.indexOf('\nNext:') + 1)
    .split('\n')
    .filter((line) => line.startsWith('  '))
  const isInstall = (line: string): boolean => /\binstall\b/.test(line.replace(/#.*/, ''))
  return {
    install: lines.filter(isInstall).join('\n'),
    rest: lines.filter((line) => !isInstall(line)).join('\n'),
  }
}

for (const kind of KINDS)
  scaffold(
    `writes a ${kind} plugin that its printed commands build, test and load into the running service`,
    async () => {
      const name = `my-${kind}`
      const made = await run(`svc plugin new ${name} --kind ${kind}`)
      assert.is(made.code, 0, made.output)
      const { install, rest } = nextSteps(made.output)
      assert.match(install, /pnpm@\d+\.\d+\.\d+ install/)
      assert.match(rest, 'svc plugin load ./')
      linkDependencies(join(folder, name))

      const startedMs = performance.now()
      const built = await run(rest)
      assert.is(built.code, 0, built.output)
      const [, total = '0', passed = ''] = /Total:\s+(\d+)\s+Passed:\s+(\d+)/.exec(built.output) ?? []
      assert.ok(Number(total) > 0, built.output)
      assert.is(passed, total, built.output)
      assert.match(built.output, /conformance/)
      assert.match(built.output, /installed my-/)

      const { plugins } = (await service.request('GET', '/v1/plugins')).body
      const record = plugins.find((one: { readonly name: string }) => one.name === name)
      assert.equal([record?.kind, record?.state, record?.error], [kind, 'running', null], built.output)
      process.stdout.write(
        `\n# ${kind}: ${total} tests of the new package, built and loaded in ${Math.round(performance.now() - startedMs)} ms\n`,
      )
    },
    { limitMs: 60_000 },
  )

scaffold(
  'serves the routes of the new feature, with roles, audit, table and expiry',
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
    const deadline = performance.now() + 10_000
    let status = 200
    while (status !== 404 && performance.now() < deadline) {
      status = (await service.request('GET', `${path}/brief`)).status
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    assert.is(status, 404, 'its reconciler removes a note that has expired')
  },
  { limitMs: 15_000 },
)

scaffold(
  'loads the very same folder again without a change, and refuses another build of the version',
  async () => {
    const again = await run('cd my-feature && svc plugin load ./')
    assert.is(again.code, 0, again.output)
    assert.match(again.output, /already installed/)
    const other = await run('cd my-feature && echo "// changed" >> dist/plugin.js && svc plugin load ./')
    assert.is.not(other.code, 0)
    assert.match(
      other.output,
      /plugin_state_conflict[\s\S]*give this one a new version|give this one a new version/,
    )
    const newer = await run(
      `cd my-feature && sed -i 's/"version": "0.1.0"/"version": "0.1.1"/' package.json && svc plugin load ./`,
    )
    assert.is(newer.code, 0, newer.output)
    assert.match(newer.output, /0\.1\.1/)
    assert.is((await service.request('GET', '/v1/my-feature/notes/mast')).body.body, 'Climb with two.')
  },
  { limitMs: 20_000 },
)

scaffold('says that a plugin lies where the service does not look', async () => {
  const written = await run('svc plugin new lost --kind feature && cp -r my-feature/dist lost/dist')
  assert.is(written.code, 0, written.output)
  const lost = await run('svc plugin load ./lost --data-dir ./elsewhere')
  assert.is(lost.code, 1)
  assert.match(lost.output, /plugin_not_found/)
  assert.match(lost.output, /the service looks elsewhere than in .*elsewhere\/plugins; .*--data-dir/)
})

scaffold('refuses to load an older folder in place of what runs', async () => {
  const older = await run(
    `cd my-feature && sed -i 's/"version": "0.1.1"/"version": "0.0.9"/' package.json && svc plugin load ./`,
  )
  assert.is(older.code, 1, older.output)
  assert.match(older.output, /runs as 0\.1\.1; going back to 0\.0\.9 must be asked for as a rollback/)
})

scaffold.run()
