import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert, eventually, suite } from '@steeple/testkit'
import { simsCsv } from '../bench/store-of-sims.ts'
import { bootDebian } from '../containers/booted-debian.ts'
import { enterOwnMachine, madeOutside } from '../containers/own-machine.ts'
import { makeBuild, makePackages, run } from '../harness/builds/make-build.ts'
import { ROOT } from '../harness/launch.ts'
import { OPEN, radioConfig } from '../harness/radio/box.ts'
import { takeStep, tenMinutesSteps, typedShell } from '../harness/tutorial-steps.ts'
import {
  configOfOutside,
  equip,
  type KeptOfOutside,
  keptOfOutside,
  makeOutsidePlugin,
  type OutsidePlugin,
  type PackagedBox,
  packagedBox,
  useOutside,
} from '../harness/upgrade/packaged-box.ts'

const CACHE = join(homedir(), '.cache', 'steeple-test', 'releases')
/** The package whose version is that of a release. */
const VERSIONED = 'packages/cli/package.json'
/** What a release needs to be made a package of. */
const PACKER = 'scripts/builds/pack.mjs'
/** Beside the packages: what believes whoever signed the plugin. */
const TRUST = 'plugin.trust'
const PNPM = join(ROOT, `tools/node_modules/@pnpm/exe.linux-${process.arch}/pnpm`)

/** A release of before, as its users have it. */
interface Release {
  readonly version: string
  readonly commit: string
  /** Its Debian package, with all parts. */
  readonly deb: string
  /** What somebody outside made with it. */
  readonly plugin: OutsidePlugin
}

/**
 * The last release: the newest commit before this one that gave the command its version. Its package, and a plugin
 * of somebody outside, are made by its own scripts, in a clone, and kept by its commit. Throws what failed.
 */
async function lastRelease(): Promise<Release> {
  const { commit, version } = await findRelease()
  const kept = join(CACHE, `${commit}-${process.arch}-and-plugin`)
  if (!existsSync(kept)) await packInto(kept, commit)
  const ending = (end: string): string => {
    const file = readdirSync(kept).find((name) => name.endsWith(end))
    if (file === undefined) throw new Error(`there is no ${end} in ${kept}`)
    return join(kept, file)
  }
  const trust = readFileSync(join(kept, TRUST), 'utf8')
  return { commit, version, deb: ending('.deb'), plugin: { file: ending('.tgz'), trust } }
}

async function findRelease(): Promise<Pick<Release, 'commit' | 'version'>> {
  const head = (await git('rev-parse', 'HEAD')).trim()
  const changed = (await git('log', '--format=%H', '-G"version":', '--', VERSIONED)).trim().split('\n')
  const packed: string[] = []
  for (const commit of changed) if ((await git('ls-tree', commit, PACKER)) !== '') packed.push(commit)
  // A commit that is itself a release is upgraded to from the one before, and the very first from itself.
  const commit = packed.find((one) => one !== head) ?? packed[0]
  if (commit === undefined)
    throw new Error(`the history of this clone has no commit that gave ${VERSIONED} its version`)
  return { commit, version: JSON.parse(await git('show', `${commit}:${VERSIONED}`)).version }
}

async function packInto(kept: string, commit: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'steeple-release-'))
  try {
    const clone = join(work, 'clone')
    await must('git', ['clone', '--quiet', '--shared', '--no-checkout', ROOT, clone])
    await must('git', ['-C', clone, 'checkout', '--quiet', commit])
    await giveTools(clone)
    await must(PNPM, ['-C', clone, 'install', '--frozen-lockfile', '--prefer-offline', '--reporter=silent'])
    const cache = `--cache-dir=${join(ROOT, '.turbo/cache')}`
    const turbo = ['run', 'build', cache, '--output-logs=errors-only', `--cwd=${clone}`]
    await must(join(clone, 'node_modules/.bin/turbo'), turbo)
    const [build, packed] = [join(work, 'build'), join(work, 'packed')]
    await must(process.execPath, [join(clone, 'scripts/builds/make.mjs'), '--out', build])
    await must(process.execPath, [join(clone, PACKER), 'deb', '--from', build, '--out', packed])
    const { trust } = await makeOutsidePlugin(clone, join(work, 'outside'), packed)
    writeFileSync(join(packed, TRUST), trust)
    mkdirSync(CACHE, { recursive: true })
    await must('cp', ['-r', packed, `${kept}.${process.pid}`])
    // Another run may have made it meanwhile; it is the same.
    if (existsSync(kept)) rmSync(`${kept}.${process.pid}`, { recursive: true })
    else renameSync(`${kept}.${process.pid}`, kept)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The pinned Node and pnpm of a clone: those of this checkout when they are the same, what npm brings else. */
async function giveTools(clone: string): Promise<void> {
  const [own, theirs] = [ROOT, clone].map((root) =>
    readFileSync(join(root, 'tools/package-lock.json'), 'utf8'),
  )
  if (own === theirs) symlinkSync(join(ROOT, 'tools/node_modules'), join(clone, 'tools/node_modules'))
  else
    await must('npm', ['ci', '--prefix', join(clone, 'tools'), '--ignore-scripts', '--no-audit', '--no-fund'])
}

function git(...args: readonly string[]): Promise<string> {
  return must('git', ['-C', ROOT, ...args])
}

async function must(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' }
  const { code, said } = await run(program, args, env)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${said}`)
  return said
}

/** The commands of a checkout, as somebody with the package has them. */
const COMMANDS = `
svc() { runuser -u steeple -- env "SVC_TOKEN=$SVC_TOKEN" HOME=/var/lib/svc /usr/bin/svc "$@"; }
lab() { /usr/lib/steeple/bin/lab "$@"; }
`
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [/npm run (-s )?svc --/g, 'svc'],
  [/npm run (-s )?lab --/g, 'lab'],
  [/\.\/data\/lab-core/g, '/var/lib/lab-core'],
  [/\.\/data/g, '/var/lib/svc'],
  // The command of a package starts at once: nobody types so fast that the HSS does not know the card yet, which bars the phone.
  [
    /^(?=.*\| lab insert$)/gm,
    `until api http://127.0.0.1:8080/v1/sims/$HASH | grep '"synced"' >/dev/null; do sleep 0.1; done\n`,
  ],
]
const COUNTRY = '[Service]\nEnvironment=SVC_SERVER_COUNTRY=DE\n'

/**
 * The tutorial of the first ten minutes, word by word, on a box that was installed from a package and is equipped: gives how many steps
 * there were, and how many results were held against what is announced.
 */
async function tenMinutes(box: PackagedBox): Promise<{ readonly steps: number; readonly compared: number }> {
  const { debian } = box
  const child = debian.start(['bash'], {})
  try {
    const shell = typedShell(child)
    await shell.run(COMMANDS)
    const token = debian.read('/var/lib/svc/first-token').trim()
    const steps = tenMinutesSteps()
    let compared = 0
    for (const step of steps) {
      if (step.script.includes('npm start')) {
        await restartInGermany(box)
        continue
      }
      const own = INSTEAD.reduce((text, [of, by]) => text.replaceAll(of, by), step.script)
      compared += await takeStep(shell, step, own.replace('svc_…', token))
    }
    return { steps: steps.length, compared }
  } finally {
    child.kill('SIGKILL')
  }
}

async function restartInGermany({ debian, answers }: PackagedBox): Promise<void> {
  const folder = join(debian.folder, 'etc/systemd/system/steeple.service.d')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'country.conf'), COUNTRY)
  await debian.must('systemctl', 'daemon-reload')
  await debian.must('systemctl', 'restart', 'steeple')
  await answers()
}

const BINARY = '/opt/radio/srsenb'
/** As docs/packages.md has it for a radio; of its device a stand-in needs none. */
const DROP_IN = `[Service]
PrivateUsers=no
PrivateDevices=no
RestrictRealtime=no
SystemCallFilter=@resources
CapabilityBoundingSet=CAP_SYS_NICE
AmbientCapabilities=CAP_SYS_NICE
`
/**
 * Says what srsenb says once it is on, and becomes a program that runs with a time of its own from the kernel, as srsenb's threads
 * do; where it may not have that it ends.
 */
const STAND_IN = `#!/bin/sh
echo '---  Software Radio Systems LTE eNodeB  ---'
echo 'Opening 1 channels in RF device=uhd with args=type=b200'
echo '==== eNodeB started ==='
echo 'Setting frequency: DL=2680.0 Mhz, UL=2560.0 MHz for cc_idx=0 nof_prb=25'
exec chrt --rr 10 ${BINARY}.run infinity
`

/** Gives a box a radio, and the law that lets it transmit. */
async function equipRadio({ debian, answers, post }: PackagedBox): Promise<void> {
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(debian.folder, path)), { recursive: true })
    writeFileSync(join(debian.folder, path), text, { mode })
  }
  put(BINARY, STAND_IN, 0o755)
  await debian.must('cp', '/usr/bin/sleep', `${BINARY}.run`)
  put('/etc/svc/control.yaml', radioConfig(BINARY))
  put('/etc/systemd/system/steeple.service.d/radio.conf', DROP_IN)
  await debian.must('systemctl', 'daemon-reload')
  await debian.must('systemctl', 'restart', 'steeple')
  await answers()
  await post('/v1/policy', OPEN)
}

/** The numbers of radios that run, inside. */
async function radios({ debian }: PackagedBox): Promise<readonly string[]> {
  const { said } = await debian.run('sh', '-c', 'grep -lx srsenb.run /proc/[0-9]*/comm')
  return [...said.matchAll(/^\/proc\/(\d+)\/comm$/gm)].map(([, pid = '']) => pid)
}
const SIMS = 4_000
const PHONES = 3
const RATES = { sim_issue_per_hour: 1_000_000, sim_import_rows_per_hour: 1_000_000 }

/** What a purge says that it leaves to do. */
const ERASE = 'rm -r /var/lib/svc; userdel steeple'

/** What is there before anything is tried: the last release's package, and this checkout's. */
interface Made {
  readonly release: Release
  readonly deb: string
}

const folder = await madeOutside(async (into) => {
  const release = await lastRelease()
  const build = await makeBuild(join(into, 'build'), [])
  const [deb] = await makePackages(build.folder, into, ['deb'], '022', 6)
  writeFileSync(join(into, 'made.json'), JSON.stringify({ release, deb }))
})
enterOwnMachine(import.meta.filename)

const upgrade = suite('e2e/real-upgrade', { limitMs: 900_000 })
// Written above.
const { release, deb } = JSON.parse(readFileSync(join(folder, 'made.json'), 'utf8')) as Made
let box: PackagedBox
/** The phones' SIMs, by the hash that names each. */
let onAir: readonly string[]
let before: Kept | undefined

upgrade.before(async () => {
  box = packagedBox(await bootDebian())
})

upgrade.after(() => box.debian.off())

upgrade(
  'the last release is installed and starts, hardened, with everything that it can do in use',
  async () => {
    await box.install(release.deb)
    assert.is(await box.property('ActiveState'), 'active')
    const status = readFileSync(box.debian.inside(`/proc/${await box.property('MainPID')}/status`), 'utf8')
    assert.match(status, /^CapBnd:\t0{16}$/m)
    assert.match(status, /^NoNewPrivs:\t1$/m)
    assert.match(status, /^Seccomp:\t2$/m)
    await equip(box, configOfOutside(release.plugin))
    onAir = await fill(box)
    await useOutside(box, release.plugin)
    before = await keptBy(box)
    assert.is(before.sims.length, SIMS)
    assert.ok(Object.keys(before.plugins).length >= 20)
    assert.not(Object.values(before.plugins).includes('failed'), JSON.stringify(before.plugins))
    const { state, version, notes, third } = before.outside
    assert.equal([state, version, notes.notes.length, third[0]], ['running', '0.1.0', 2, 409])
  },
)

upgrade(
  'this build takes its place: nothing is lost, phones stay on, and each octet counts once',
  async () => {
    // Without the first step there is nothing to try.
    assert.ok(before)
    await box.follow('Before', deb)
    await box.answers()
    const said = await box.follow('Upgrade', deb)
    assert.match(said, /\ncommit {2}[0-9a-f]{40}/)
    await box.answers()
    await allIsThere(before)
    await octetsAreThere()
    assert.is((await box.post('/v1/sims', { label: 'after' })).sims.length, 1)
  },
)

upgrade(
  'an upgrade that is regretted is taken back with what came after it, unless it has changed the store: then it is left alone',
  async () => {
    assert.ok(before)
    const after = await keptBy(box)
    assert.is(after.sims.length, SIMS + 1)
    const isSame = stepsOf('svc').join() === stepsOf('svc.before').join()
    await box.follow('Go back', release.deb)
    if (!isSame) return await isRefused(/\w+ \(\d{4}_[\w, ]+\)/)
    await box.answers()
    // The tap of 0.2.0 does not go on with rules of a later one: docs/how-to/upgrade.md.
    await allIsThere(after)
  },
)

upgrade(
  'where the later one has changed the store it is left alone, and the copy of before serves',
  async () => {
    assert.ok(before)
    await box.debian.must('systemctl', 'stop', 'steeple')
    const connection = new DatabaseSync(storeIn('svc'))
    connection.exec("insert into kernel_migration (owner, id, at) values ('sims', '9999_later', 0)")
    connection.close()
    // The step before this one may have been refused, too.
    const since = `@${Date.now() / 1_000}`
    await box.debian.run('systemctl', 'start', 'steeple')
    await isRefused(/\w+ \([\w, ]+\)/, since)
    await box.follow('Put the copy back', release.deb)
    await box.answers()
    await allIsThere(before)
  },
)

upgrade(
  'it stops, starts again when it was killed, and is removed but for what is nobody else’s to lose',
  async () => {
    assert.ok(before)
    await box.follow('Upgrade', deb)
    await box.answers()
    await box.debian.must('systemctl', 'kill', '-s', 'KILL', '--kill-who=main', 'steeple')
    await eventually(async () => Number(await box.property('NRestarts')) === 1)
    await eventually(async () => (await box.ask('GET', '/v1/healthz')).status === 200)
    await box.debian.must('systemctl', 'stop', 'steeple')
    assert.is(await box.property('Result'), 'success')
    const audit = await box.debian.run('runuser', '-u', 'steeple', '--', 'svc', 'audit', 'verify')
    assert.is(audit.code, 0, audit.said)
    await box.debian.must('systemctl', 'start', 'steeple')
    await box.debian.must('dpkg', '-r', 'steeple')
    assert.is((await box.debian.run('systemctl', 'is-active', 'steeple')).said, 'inactive\n')
    assert.not(box.debian.has('/usr/lib/steeple/bin') || box.debian.has('/usr/bin/svc'))
    assert.ok(box.debian.has('/etc/svc/control.yaml'))
    const purged = await box.debian.must('dpkg', '-P', 'steeple')
    assert.ok(purged.includes(`steeple: to erase them: ${ERASE}`), purged)
    assert.match(purged, /steeple: kept: \/var\/lib\/svc .* and the user steeple\./)
    assert.not(box.debian.has('/etc/svc'))
    assert.ok(box.debian.has('/var/lib/svc/svc.db') && box.debian.has('/var/lib/svc/keys'))
  },
)

upgrade(
  'erased as it names it and installed anew, it goes as the first ten minutes of the README have it',
  async () => {
    // Of the core, which is somebody else's, runs nothing any more as the user that goes.
    await box.debian.must('systemctl', 'stop', 'lab-core')
    await box.debian.must('sh', '-ec', ERASE)
    await box.install(deb)
    await equip(box)
    const { steps, compared } = await tenMinutes(box)
    assert.ok(steps >= 15, `${steps} steps`)
    assert.ok(compared >= 22, `${compared} results`)
  },
)

upgrade(
  'a radio under the unit has what its programs need, and goes when it is disarmed and when the service is killed',
  async () => {
    await equipRadio(box)
    const arm = (on: boolean): Promise<unknown> =>
      eventually(
        async () => (await box.ask('POST', '/v1/tx/arm', { arm: on, profile_id: 'mast' })).status === 200,
      )
    await arm(true)
    await eventually(async () => (await radios(box)).length === 1)
    await arm(false)
    await eventually(async () => (await radios(box)).length === 0)
    await arm(true)
    await eventually(async () => (await radios(box)).length === 1)
    const [killed = ''] = await radios(box)
    await box.debian.must('systemctl', 'kill', '-s', 'KILL', '--kill-who=main', 'steeple')
    await eventually(async () => !(await radios(box)).includes(killed))
    await box.answers()
  },
)

function storeIn(folder: 'svc' | 'svc.before'): string {
  return join(box.debian.folder, 'var/lib', folder, 'svc.db')
}

/** The steps that a store was brought up by, sorted. */
function stepsOf(folder: 'svc' | 'svc.before'): readonly string[] {
  const connection = new DatabaseSync(storeIn(folder), { readOnly: true })
  try {
    const rows = connection.prepare('select owner, id from kernel_migration').all()
    return rows.map(({ owner, id }) => `${owner} ${id}`).toSorted()
  } finally {
    connection.close()
  }
}

/** Waits until the service says that it does not take the store, and of which step; throws what else it said. */
async function isRefused({ source }: RegExp, since = '@0'): Promise<void> {
  const words = RegExp(`it was written by a newer version of ${source}; use that version or restore a backup`)
  let said = ''
  await eventually(async () => {
    said = await box.debian.must('journalctl', '-u', 'steeple', '--since', since)
    return words.test(said.slice(-100_000))
  }).catch((cause: unknown) => {
    throw new Error(`it does not say ${words}:\n${said.slice(-4_000)}`, { cause })
  })
}

/** What must outlive a change of the programs. */
interface Kept {
  /** One text for each SIM, without what a phone changes of it. */
  readonly sims: readonly string[]
  readonly plugins: Readonly<Record<string, string>>
  /** Answers of what is kept besides, by their path. */
  readonly answers: Readonly<Record<string, unknown>>
  /** Of the plugin of a project outside. */
  readonly outside: KeptOfOutside
}

async function keptBy(box: PackagedBox): Promise<Kept> {
  const { all, get } = box
  const sims = await all('/v1/sims', 'sims')
  const plugins = await all('/v1/plugins', 'plugins')
  const answers: Record<string, unknown> = {}
  for (const path of ['/v1/policy', '/v1/esim/codes', '/v1/users', '/v1/tokens'])
    answers[path] = JSON.parse(JSON.stringify(await get(path), withoutMoments))
  for (const hash of onAir) answers[hash] = (await get(`/v1/sims/${hash}/usage`)).quota_bytes
  return {
    sims: sims.map((sim) => JSON.stringify(sim, withoutMoments)).toSorted(),
    plugins: Object.fromEntries(plugins.map(({ name, state }) => [name, state])),
    answers,
    outside: await keptOfOutside(box),
  }
}

/** What is of the moment at which it is looked at. */
function withoutMoments(key: string, value: unknown): unknown {
  return /^(attached|last_(seen|used|login)_at|provisioning|usage_bytes|state|next_cursor)$/.test(key)
    ? undefined
    : value
}

/** Whether all of it is there, and each phone on in the session that it began with. */
async function allIsThere(kept: Kept): Promise<void> {
  // Installed plugins are not waited for by the service.
  await eventually(async () => (await box.ask('GET', '/v1/field-notes/notes')).status === 200)
  const now = await keptBy(box)
  assert.equal(ofRelease(now.plugins), ofRelease(kept.plugins))
  assert.equal(asOf(kept.answers, now.answers), kept.answers)
  assert.equal(now.outside, kept.outside)
  assert.is(now.sims.length, kept.sims.length)
  // Never all of them in what is told of a failure.
  const known = new Set(kept.sims)
  const [one = '{}'] = kept.sims
  const again = now.sims.map((sim) => JSON.stringify(asOf(JSON.parse(one), JSON.parse(sim))))
  assert.equal(again.filter((sim) => !known.has(sim)).slice(0, 3), [])
  for (const { state, ipv4, total, up_bytes, down_bytes } of await box.phones()) {
    // A quiet phone is idle after a while, and on all the same.
    assert.ok(state === 'connected' || state === 'idle', state)
    assert.ok(ipv4)
    assert.is(up_bytes, total.up_bytes)
    assert.is(down_bytes, total.down_bytes)
    assert.ok(up_bytes > 0)
  }
}

/** A later answer without the members that the answer of before had not. */
function asOf(before: unknown, later: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(later)) return later.map((each, at) => asOf(before[at], each))
  if (!isRecord(before) || !isRecord(later)) return later
  const members = Object.entries(later).filter(([name]) => name in before)
  return Object.fromEntries(members.map(([name, value]) => [name, asOf(before[name], value)]))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Without those that this build has and the release had not. */
function ofRelease(plugins: Kept['plugins']): Kept['plugins'] {
  return Object.fromEntries(Object.entries(plugins).filter(([name]) => before?.plugins[name] !== undefined))
}

/** Phones move data all along; once they rest, the ledger has all of it. */
async function octetsAreThere(): Promise<void> {
  for (const hash of onAir) await box.phone(hash, 'traffic', { up_kbps: 0, down_kbps: 0 })
  // A packet that was under way still counts.
  for (const hash of onAir)
    await eventually(async () => {
      const moved = (await box.phones()).find(({ phone }) => phone === hash)?.total
      const usage = await box.get(`/v1/sims/${hash}/usage`)
      return usage.up_bytes === moved?.up_bytes && usage.down_bytes === moved?.down_bytes
    })
  for (const hash of onAir) await box.phone(hash, 'traffic', { up_kbps: 8, down_kbps: 80 })
}

/** Fills a box as a year of work does; gives the SIMs of its phones. */
async function fill({ get, post, all, insert, phone }: PackagedBox): Promise<readonly string[]> {
  await post('/v1/policy', { rate_limits: RATES })
  const { batch_id: batch } = await post('/v1/sims', { count: PHONES, label: 'village' })
  const hashes = (await all('/v1/sims', 'sims')).map((sim) => String(sim.imsi_sha256_12))
  for (const hash of hashes)
    await post(`/v1/sims/${hash}/quota`, { quota_bytes: 5_000_000_000, period: 'month', action: 'alert' })
  await post('/v1/esim/certs/init', {})
  await post('/v1/esim/issue', { count: 2 })
  await post('/v1/users', { name: 'ann', roles: ['operator'] })
  await post('/v1/tokens', { name: 'duty desk', roles: ['operator'], expires_in: '12h' })
  const others = SIMS - PHONES - 2
  const imported = await post('/v1/sims/import', simsCsv(500_000, others, ['iccid']), 'text/csv')
  assert.is(imported.imported, others)
  await eventually(async () =>
    (await get('/v1/sims?q=village')).sims.every(
      (sim: { readonly provisioning: { readonly status: string } }) => sim.provisioning.status === 'synced',
    ),
  )
  await insert(batch)
  for (const hash of hashes)
    await eventually(async () => (await get(`/v1/sims/${hash}`)).first_attach_at !== null)
  for (const hash of hashes) await phone(hash, 'traffic', { up_kbps: 8, down_kbps: 80 })
  return hashes
}

upgrade.run()
