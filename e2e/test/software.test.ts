import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite, unusedPort } from '@steeple/testkit'
import { makeBuild } from '../harness/builds/make-build.ts'
import { type Answer, ask } from '../harness/service.ts'
import {
  type BuildKey,
  buildKey,
  type Change,
  type Supervised,
  signedCopy,
  supervise,
} from '../harness/upgrade/signed-builds.ts'

const software = suite('e2e/software', { limitMs: 600_000 })
/** What a build that is not well has. */
const TRIAL = '20s'
const WAIT_MS = 180_000

let folder: string
let installed: string
const key: BuildKey = buildKey()
const boxes: Supervised[] = []

software.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-software-'))
  installed = (await makeBuild(join(folder, 'installed'), ['--only', 'driver-hss,groups'])).folder
})
software.after(async () => {
  for (const box of boxes) await box.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Box {
  readonly dataDir: string
  readonly run: Supervised
  request(method: string, path: string, body?: unknown): Promise<Answer>
  /** A build in its folder of builds; its id. */
  build(name: string, change: Change): string
  /** Until it says this of the build that it is to run. */
  until(status: string): Promise<{
    readonly running: { readonly build: string | null }
    readonly wanted: { readonly problem: string }
  }>
}

async function box(name: string, trusted = key): Promise<Box> {
  const place = join(folder, name)
  const dataDir = join(place, 'data')
  mkdirSync(join(dataDir, 'builds'), { recursive: true })
  const port = await unusedPort()
  const config = join(place, 'control.yaml')
  writeFileSync(config, `groups: {build_keys: ["${trusted.publicKey} builders"], trial: ${TRIAL}}\n`)
  const token = randomBytes(24).toString('hex')
  const url = `http://127.0.0.1:${port}`
  const flags = ['--first-start', '--config', config, '--data-dir', dataDir, '--listen', `127.0.0.1:${port}`]
  const run = supervise(join(installed, 'bin/launch'), [join(dataDir, 'builds'), ...flags], {
    SVC_ADMIN_TOKEN: token,
  })
  boxes.push(run)
  const request = (method: string, path: string, body?: unknown) => ask(url, method, path, { token, body })
  await eventually(async () => (await request('GET', '/v1/software')).status === 200, WAIT_MS)
  return {
    ...{ dataDir, run, request },
    build: (build, change) => signedCopy(installed, join(dataDir, 'builds', build), key, change),
    until: async (status) => {
      let body: Answer['body']
      await eventually(async () => {
        const answer = await request('GET', '/v1/software')
        body = answer.body
        assert.is(body.wanted.status, status, JSON.stringify(body))
        assert.is(body.trial, null)
      }, WAIT_MS)
      return body
    },
  }
}

async function use(one: Box, build: string): Promise<void> {
  const { status, body } = await one.request('PUT', '/v1/software', { build })
  assert.is(status, 200, JSON.stringify(body))
}

async function issue(one: Box, label: string): Promise<void> {
  const { status, body } = await one.request('POST', '/v1/sims', { label })
  assert.is(status, 201, JSON.stringify(body))
}

async function labels(one: Box): Promise<readonly string[]> {
  const { body } = await one.request('GET', '/v1/sims')
  return body.sims.map(({ label }: { readonly label: string }) => label).toSorted()
}

software(
  'a box runs a signed build that lies there, keeps it over a kill, and takes no older one',
  async () => {
    const one = await box('well')
    const next = one.build('next', { minutes: 10 })
    const older = one.build('older', { minutes: 5 })
    await issue(one, 'before')
    await use(one, next)
    const { running } = await one.until('runs')
    assert.is(running.build, next)
    assert.equal(await labels(one), ['before'])
    one.run.kill()
    await eventually(async () => {
      const { body } = await one.request('GET', '/v1/software')
      assert.is(body.running.build, next)
    }, WAIT_MS)
    await use(one, older)
    const { wanted } = await one.until('refused')
    assert.match(wanted.problem, /made before the build that runs/)
    // The state of before the trial is kept.
    assert.ok(existsSync(join(one.dataDir, 'builds/before/svc.db')))
  },
)

software(
  'a build that does not start, and one that hangs, are left within their time; what was issued stays',
  async () => {
    const one = await box('ill')
    await issue(one, 'before')
    const dead = one.build('dead', { minutes: 10, files: { 'bin/svc': '#!/bin/sh\necho no >&2\nexit 1\n' } })
    await use(one, dead)
    const { wanted, running } = await one.until('went_back')
    assert.is(running.build, null)
    assert.match(wanted.problem, /not well in time/)
    const again = await one.request('PUT', '/v1/software', { build: dead })
    assert.is(again.status, 409)
    const hangs = one.build('hangs', { minutes: 11, files: { 'bin/svc': '#!/bin/sh\nexec sleep 3600\n' } })
    const begun = performance.now()
    await use(one, hangs)
    await one.until('went_back')
    process.stdout.write(
      `\n# back from a build that hangs after ${Math.round((performance.now() - begun) / 1000)} s (trial ${TRIAL})\n`,
    )
    assert.equal(await labels(one), ['before'])
  },
)

software('a build that runs and is worse is left: it lacks a plugin that ran before', async () => {
  const one = await box('worse')
  const worse = one.build('worse', { minutes: 10, without: ['lib/node_modules/@steeple/driver-hss'] })
  await use(one, worse)
  const { running } = await one.until('went_back')
  assert.is(running.build, null)
  assert.match(one.run.output(), /the plugin driver-hss does not run/)
})

/** Leaves a store that only it can use, and does not start. */
const SPOILS = `#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$root/bin/node" --input-type=module -e '
import { DatabaseSync } from "node:sqlite"
const data = process.argv[process.argv.indexOf("--data-dir") + 1]
const db = new DatabaseSync(data + "/svc.db")
db.exec("insert into kernel_migration (owner, id, at) values (char(107,101,114,110,101,108), char(57,57,57,57,95,120), 0)")
db.close()
process.exit(1)
' -- "$@"
`

software(
  'a store that only the new build can use gives way to the copy of before, and is kept beside',
  async () => {
    const one = await box('spoilt')
    await issue(one, 'before')
    const spoils = one.build('spoils', { minutes: 10, files: { 'bin/svc': SPOILS } })
    await use(one, spoils)
    const { wanted } = await one.until('went_back')
    assert.match(wanted.problem, /state is that of before/)
    assert.equal(await labels(one), ['before'])
    assert.ok(readdirSync(join(one.dataDir, 'builds/after')).includes('svc.db'))
    assert.match(one.run.output(), /cannot use what spoils has written/)
  },
)

software(
  'killed at any moment of a trial, it runs one of both builds with its state in the end',
  async () => {
    const one = await box('killed')
    await issue(one, 'before')
    for (const [at, minutes] of [10, 11, 12].entries()) {
      const next = one.build(`next${at}`, { minutes })
      const { starts } = one.run
      const before = starts()
      await use(one, next)
      await eventually(() => starts() > before, WAIT_MS)
      for (let kills = 0; kills <= at; kills += 1) {
        const now = starts()
        one.run.kill()
        await eventually(() => starts() > now, WAIT_MS)
      }
      await eventually(async () => {
        const { body } = await one.request('GET', '/v1/software')
        assert.ok(['runs', 'went_back'].includes(body.wanted.status), JSON.stringify(body))
        assert.is(body.running.build === next, body.wanted.status === 'runs')
      }, WAIT_MS)
      assert.equal(await labels(one), ['before'])
    }
  },
)

software('a build of somebody else, and one that was changed, are refused', async () => {
  const one = await box('strange', buildKey())
  const strange = one.build('strange', { minutes: 10 })
  await use(one, strange)
  assert.match((await one.until('refused')).wanted.problem, /not in groups.build_keys/)
  const two = await box('changed')
  const changed = two.build('changed', { minutes: 10 })
  const record = join(two.dataDir, 'builds/changed/bin/svc')
  const text = readFileSync(record, 'utf8')
  rmSync(record)
  writeFileSync(record, `${text}\n# changed\n`, { mode: 0o755 })
  await use(two, changed)
  assert.match((await two.until('refused')).wanted.problem, /bin\/svc in changed is not what was signed/)
  assert.is((await two.request('GET', '/v1/software')).body.running.build, null)
})

software.run()
