import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { assert, suite, type TempDir, tempDir } from '@steeple/testkit'
import { type Build, makeBuild, makeBuildElsewhere, run, tryBuild } from '../harness/builds/make-build.ts'
import { filesWith, ownFiles } from '../harness/builds/words.ts'
import { ROOT } from '../harness/launch.ts'
import { type Service, startService } from '../harness/service.ts'

/** Where a build has its packages. */
const OURS = 'lib/node_modules/@steeple'

const PACKER = join(ROOT, 'scripts/builds/pack.mjs')
const NAMED = ['--node', 'named']
const FEW = ['--only', 'driver-hss,esim-smdp', ...NAMED]
const BARE = ['--only', '', ...NAMED]

const build = suite('e2e/build', { limitMs: 600_000 })
let temp: TempDir
/** Builds that several tests look at. */
const kept: { few?: Promise<Build>; bare?: Promise<Build> } = {}

build.before(async () => {
  temp = await tempDir()
})
build.after(async () => {
  await temp[Symbol.asyncDispose]()
})

/** With some parts, made once. */
function few(): Promise<Build> {
  kept.few ??= makeBuild(join(temp.path, 'few'), FEW)
  return kept.few
}

/** With no part, made once, into a folder that is there and empty. */
function bare(): Promise<Build> {
  const folder = join(temp.path, 'bare')
  mkdirSync(folder, { recursive: true })
  kept.bare ??= makeBuild(folder, BARE)
  return kept.bare
}

build('runs with nothing but its own files, and says what it is', async () => {
  const { folder, program } = await makeBuild(join(temp.path, 'whole'), ['--without', 'lab-core,tracing'])
  // No Node, no checkout: the shell and what is in the folder.
  const env = { PATH: '/usr/bin:/bin', SVC_HSS_DRIVER: 'none', NODE_OPTIONS: process.env.NODE_OPTIONS }
  const { said } = await run(program, ['--version'], env)
  assert.match(said, /^0\.\d+\.\d+\ncommit {2}[0-9a-f]{40}(\+changes)?\ndate {4}20\d\d-/)
  assert.match(said, new RegExp(`\nfor {5}linux ${process.arch}, node 24\\.`))
  assert.match(said, /\nhas .* mesh .*\nlacks {3}lab-core tracing/)
  const contents = ownFiles(folder)
  assert.not(existsSync(join(folder, 'lib/node_modules/@steeple/lab-core')))
  assert.is.not(filesWith(folder, 'mesh take-root', contents).length, 0)
  const project = join(temp.path, 'outside')
  const made = await run(program, ['plugin', 'new', 'outside', '--kind', 'core', '--dir', project], env)
  assert.match(made.said, /vendor\/steeple-plugin-kit-/)
  assert.is(readdirSync(join(project, 'vendor')).length, 3)
  const service = await startService({ program, dataDir: join(temp.path, 'data'), env })
  try {
    assert.is(executableOf(service), join(folder, 'bin/node'))
    const issued = await service.request('POST', '/v1/sims', { body: { label: 'village' } })
    assert.is(issued.status, 201, JSON.stringify(issued.body))
    const { body } = await service.request('GET', '/v1/plugins?limit=100')
    const names: readonly string[] = body.plugins.map(({ name }: { readonly name: string }) => name)
    assert.ok(names.includes('mesh'))
    assert.not(names.includes('tracing'))
  } finally {
    assert.is(await service.stop(), 0)
  }
  rmSync(folder, { recursive: true })
})

build(
  'is the same twice, to the octet and the second, wherever the checkout lies, the clock is, and whoever may read it',
  async () => {
    const [one, other] = [
      await few(),
      await makeBuildElsewhere(join(temp.path, 'a/checkout/elsewhere'), join(temp.path, 'other'), FEW),
    ]
    const first = contentsOf(one.folder)
    assert.ok(first.length > 300)
    assert.equal(contentsOf(other.folder), first)
    const present = readdirSync(join(one.folder, OURS))
    assert.ok(present.includes('esim-smdp') && present.includes('sims'))
    assert.not(present.includes('mesh') || present.includes('lab-core') || present.includes('e2e'))
  },
)

build('has a bill of materials of exactly what is in it', async () => {
  const { folder } = await few()
  const bill = JSON.parse(readFileSync(join(folder, 'bom.cdx.json'), 'utf8'))
  assert.is(bill.bomFormat, 'CycloneDX')
  assert.is(bill.specVersion, '1.6')
  const components: readonly Component[] = bill.components
  assert.equal(components.map(({ purl }) => purl).toSorted(), packagesIn(join(folder, 'lib/node_modules')))
  assert.ok(components.every(({ licenses }) => licenses !== undefined))
  const refs = new Set([bill.metadata.component['bom-ref'], ...components.map(({ purl }) => purl)])
  const named: readonly string[] = bill.dependencies.flatMap(
    ({ ref, dependsOn = [] }: { readonly ref: string; readonly dependsOn?: readonly string[] }) => [
      ref,
      ...dependsOn,
    ],
  )
  assert.ok(named.length > 200 && named.every((ref) => refs.has(ref)))
})

build('has of what lies in one file of ours the name and the terms alone', async () => {
  const { folder } = await bare()
  const filesOf = (name: string): readonly string[] =>
    readdirSync(join(folder, 'lib/node_modules', name)).filter((file) => file !== 'node_modules')
  for (const name of ['knex', 'lodash']) assert.equal(filesOf(name), ['LICENSE', 'package.json'])
  // These the files still ask for.
  for (const name of ['better-sqlite3', '@fastify/ajv-compiler']) assert.ok(filesOf(name).length > 2, name)
})

build('of another machine has its programs and none of this one', async () => {
  const arch = process.arch === 'x64' ? 'arm64' : 'x64'
  const { folder } = await makeBuild(join(temp.path, 'foreign'), ['--arch', arch, '--node', 'named'])
  const programs = contentsOf(folder).flatMap(([path = '']) => (path.endsWith('.node') ? [path] : []))
  assert.equal(programs, [`lib/node_modules/better-sqlite3/prebuilds/linux-${arch}.node`])
  const record = JSON.parse(readFileSync(join(folder, OURS, 'cli/build.json'), 'utf8'))
  assert.equal(record.lacks, ['pcap'])
  assert.is(record.arch, arch)
})

build(
  'without what it cannot be without, with names that are none, or with a gap or a slip is refused with words',
  async () => {
    const target = join(temp.path, 'refused')
    for (const [flags, words] of [
      [['--without', 'mesh,sims'], /sims is part of every build/],
      [['--without', 'moon'], /there is no plugin moon; --without takes alerts, backup, /],
      [['--only', 'mesh', '--without', 'alerts'], /--without and --only are two ways to say one thing/],
      [['--arch', 'mips'], /--arch is x64 or arm64/],
      [['--node', 'maybe'], /--node is included or named, and not maybe/],
      [['--witout', 'mesh'], /--witout is none of --without, --only, /],
      [['--witout=mesh'], /--witout=mesh is none of --without, --only, /],
      [['--without', 'mesh', 'alerts'], /alerts is none of --without, --only, /],
      [['--without', 'mesh', '--arch'], /--arch needs a value/],
    ] as const) {
      const { code, said } = await tryBuild(target, flags)
      assert.match(said, words)
      assert.is(code, 2)
    }
    for (const [flags, words] of [
      [['--form', target], /--form is none of --from, --out/],
      [['--level', '10'], /--level is a digit from 1 to 9, and not 10/],
    ] as const) {
      const packer = await run(process.execPath, [PACKER, 'tar', ...flags], process.env)
      assert.match(packer.said, words)
      assert.is(packer.code, 2)
    }
  },
)

build('takes the place of a build, and of nothing else that lies there', async () => {
  const target = join(temp.path, 'taken')
  mkdirSync(target)
  writeFileSync(join(target, 'thesis.txt'), 'years of work')
  const { code, said } = await tryBuild(target, BARE)
  assert.match(said, /taken is no build; give --out an empty folder, or remove it/)
  assert.is(code, 2)
  assert.is(readFileSync(join(target, 'thesis.txt'), 'utf8'), 'years of work')
  rmSync(join(target, 'thesis.txt'))
  cpSync((await bare()).folder, target, { recursive: true })
  writeFileSync(join(target, 'share/of-before'), '')
  await makeBuild(target, BARE)
  assert.not(readdirSync(join(target, 'share')).includes('of-before'))
})

build('whose essential packages were lost does not start and names them', async () => {
  const { folder, program } = await bare()
  // The last that uses it.
  for (const name of ['policy', 'nodes']) rmSync(join(folder, OURS, name), { recursive: true })
  const { code, said } = await run(program, ['--data-dir', join(temp.path, 'none')], process.env)
  assert.match(said, /^incomplete_build: this build lacks nodes, policy:/m)
  assert.is(code, 1)
})

interface Component {
  readonly purl: string
  readonly licenses?: readonly unknown[]
}

/** The packages below a folder as the bill names them, each once, sorted. */
function packagesIn(folder: string): readonly string[] {
  const manifests = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|\/node_modules\/)(@[^/]+\/)?[^/]+\/package\.json$/.test(path),
  )
  const purls = manifests.map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, path), 'utf8'))
    return `pkg:npm/${String(name).replace('@', '%40')}@${version}`
  })
  return [...new Set(purls)].toSorted()
}

/** The program that the process is. */
function executableOf({ child }: Service): string {
  return readlinkSync(`/proc/${child.pid}/exe`)
}

/** Path, hash, mode and time of every file below a folder, sorted. */
function contentsOf(folder: string): readonly (readonly string[])[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((path) => {
      const status = statSync(join(folder, path))
      const hash = status.isDirectory() ? 'folder' : sha256(readFileSync(join(folder, path)))
      return [path, hash, status.mode.toString(8), String(status.mtimeMs)]
    })
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

build.run()
