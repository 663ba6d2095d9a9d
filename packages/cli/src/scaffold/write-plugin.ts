import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PluginCommand } from '@steeple/contracts'
import { failure, usageError } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { packageRoot } from '../package-root.ts'
import { type ScaffoldKind, SELECTED_BY } from './kinds.ts'

/** What the generated files depend on. */
interface PackageFilesOptions {
  readonly name: string
  readonly kind: ScaffoldKind
  /** A package of this workspace, or one of its own. */
  readonly isInside: boolean
  /** What a project of its own depends on: name → where from. */
  readonly packages: Readonly<Record<string, string>>
}

/** What a plugin of a kind provides and needs; `collector.<id>` is added for a collector. */
const SERVICES: Readonly<
  Record<ScaffoldKind, { readonly provides: readonly string[]; readonly requires: readonly string[] }>
> = {
  core: { provides: ['core.driver'], requires: [] },
  hss: { provides: ['hss.driver'], requires: [] },
  ran: { provides: ['ran.driver', 'ran.transmitter'], requires: ['policy.tx_gate'] },
  collector: { provides: [], requires: [] },
  feature: { provides: [], requires: [] },
}

const DESCRIPTIONS: Readonly<Record<ScaffoldKind, string>> = {
  core: 'Renders, applies and watches the files of a core',
  hss: 'Keeps subscribers in memory',
  ran: 'Supervises one radio process under the TX gate',
  collector: 'Collects usage from a file of counters',
  feature: 'Notes that operators leave for each other',
}

/** The tests are TypeScript that Node runs as it is; an older Node would end with an error about a file extension. */
const NEEDS_TYPES = `node -e "process.features.typescript||(console.error('the tests need Node 22.18 or newer; this is '+process.version),process.exit(1))"`

/** The versions that the templates are written for and tested with. */
const TOOLS = { tsup: '9.0.0', uvu: '0.5.6', '@types/node': '^24.0.0' } as const

const INSIDE_FILES: readonly (readonly [string, string])[] = [
  ['turbo.json', jsonText({ extends: ['//'], tags: ['plugin'], tasks: {} })],
  [
    'tsconfig.json',
    jsonText({
      extends: '../../tsconfig.base.json',
      compilerOptions: { rootDir: 'src', outDir: 'dist' },
      include: ['src'],
    }),
  ],
  [
    'tsconfig.test.json',
    jsonText({
      extends: './tsconfig.json',
      compilerOptions: { rootDir: '.', noEmit: true, isolatedDeclarations: false, declaration: false },
      include: ['src', 'test'],
    }),
  ],
]
const OUTSIDE_FILES: readonly (readonly [string, string])[] = [
  ['.gitignore', 'node_modules/\ndist/\n*.tgz\n!vendor/*.tgz\n*.key\n'],
  ['tsconfig.json', jsonText({ extends: '@steeple/plugin-kit/tsconfig.json', include: ['src', 'test'] })],
]

/** `package.json`, the compiler's files and, inside the workspace, the boundary tag: path → content. */
function packageFiles(options: PackageFilesOptions): readonly (readonly [string, string])[] {
  const { isInside } = options
  return [
    ['package.json', jsonText(isInside ? insideManifest(options) : outsideManifest(options))],
    ...(isInside ? INSIDE_FILES : OUTSIDE_FILES),
  ]
}

function insideManifest({ name, kind }: PackageFilesOptions): object {
  return {
    name: `@steeple/${name}`,
    version: '0.1.0',
    private: true,
    description: DESCRIPTIONS[kind],
    license: 'Apache-2.0',
    type: 'module',
    exports: { '.': { types: './dist/plugin.d.ts', default: './dist/plugin.js' } },
    files: filesOf(kind),
    scripts: {
      build: 'tsup && tsc -p tsconfig.json --emitDeclarationOnly',
      typecheck: 'tsc -p tsconfig.test.json --noEmit',
      test: `${NEEDS_TYPES} && uvu test "\\.test\\.ts$"`,
    },
    steeple: steeple(name, kind),
    dependencies: { '@steeple/contracts': 'workspace:*' },
    devDependencies: { '@steeple/testkit': 'workspace:*', ...TOOLS },
  }
}

/** A project of its own: npm and three packages are all that it needs. */
function outsideManifest({ name, kind, packages }: PackageFilesOptions): object {
  return {
    name,
    version: '0.1.0',
    private: true,
    description: DESCRIPTIONS[kind],
    type: 'module',
    exports: { '.': './dist/plugin.js' },
    files: filesOf(kind),
    engines: { node: '>=24' },
    scripts: {
      build: 'steeple-plugin build',
      typecheck: 'steeple-plugin typecheck',
      test: 'steeple-plugin test',
      pack: 'steeple-plugin build && steeple-plugin pack',
    },
    steeple: steeple(name, kind),
    devDependencies: packages,
  }
}

function filesOf(kind: ScaffoldKind): readonly string[] {
  return ['dist', ...(kind === 'hss' ? [] : ['config.schema.json'])]
}

/** The manifest that the service reads before any code of the plugin runs. */
function steeple(name: string, kind: ScaffoldKind): object {
  const { provides, requires } = SERVICES[kind]
  const given = kind === 'collector' ? [`collector.${name}`] : provides
  return {
    id: name,
    kind,
    contracts: `^${contractsVersion()}`,
    config_path: name.replaceAll('-', '_'),
    ...(kind === 'hss' ? {} : { config: './config.schema.json' }),
    ...(kind === 'feature'
      ? {
          paths: { [`/v1/${name}`]: {} },
          welcome: [{ name, path: `/v1/${name}/notes` }],
          commands: noteCommands(name),
        }
      : {}),
    ...(requires.length === 0 ? {} : { requires }),
    ...(given.length === 0 ? {} : { provides: given }),
    ...(SELECTED_BY[kind] === undefined
      ? {}
      : { selected_by: { key: SELECTED_BY[kind], values: [name.replaceAll('-', '_')] } }),
    // A driver owns what it drives: two copies at once would fight over it.
    handover: kind === 'feature' || kind === 'collector' ? 'overlap' : 'exclusive',
  }
}

/** Two that are an operation each, and one that has code of its own. */
function noteCommands(name: string): readonly PluginCommand[] {
  const notes = `/v1/${name}/notes`
  return [
    { group: name, summary: 'notes that operators leave for each other' },
    {
      usage: `${name} list`,
      summary: 'notes by name',
      operation: `GET ${notes}`,
      list: {
        key: 'notes',
        columns: [
          { value: 'name', fit: 'whole' },
          { value: 'body', fit: 'wrap' },
          { title: 'BY', value: 'written_by' },
          { title: 'EXPIRES', value: 'expires_at' },
        ],
      },
    },
    {
      usage: `${name} remove <name>`,
      summary: 'remove a note',
      operation: `DELETE ${notes}/{name}`,
      shows: { name: '{name}', removed: true },
    },
    {
      usage: `${name} write <name>`,
      summary: 'write a note: its text from standard input',
      options: { '--expires-in <duration>': 'it goes by itself then, such as 2h or 3d' },
      module: './dist/commands.js',
    },
  ]
}

/** Version of `@steeple/contracts` of this installation, and of what is published with it. */
function contractsVersion(): string {
  const text = readFileSync(`${folderOf('@steeple/contracts')}/package.json`, 'utf8')
  // The file is this installation's own.
  return (JSON.parse(text) as { readonly version: string }).version
}

/** Packages of one installation lie side by side. */
function folderOf(packageName: string): string {
  return `${dirname(fileURLToPath(packageRoot()))}/${packageName.replace('@steeple/', '')}`
}

/** What a plugin's project needs of us, in the registry or as files. They are of one version. */
const PUBLISHED = ['contracts', 'plugin-kit', 'testkit'] as const
/** Where the files lie in the project. */
const VENDOR = 'vendor'

/** What a project depends on: name → version, or `file:` of a package in its folder `vendor`. */
interface Published {
  readonly packages: Readonly<Record<string, string>>
  /** Puts the files into the project. */
  copyInto(dir: string): readonly string[]
}

/** For `--packages`: npm's registry, whatever this installation has. */
const REGISTRY = 'registry'

/**
 * The packages of this installation's version: as `.tgz` from a folder, which are copied, so that the project works wherever it is
 * put; those that a build carries when none is named; from npm's registry else. Throws `packages_missing`.
 */
function publishedPackages(named: string | undefined): Published {
  const version = contractsVersion()
  const folder = named ?? ownFolder()
  if (folder === undefined || named === REGISTRY) {
    const packages = Object.fromEntries(PUBLISHED.map((name) => [`@steeple/${name}`, `^${version}`]))
    return { packages, copyInto: () => [] }
  }
  const files = PUBLISHED.map((name) => `steeple-${name}-${version}.tgz`)
  const missing = files.filter((file) => !existsSync(join(folder, file)))
  if (missing.length > 0) throw packagesMissing(folder, missing)
  const packages = PUBLISHED.map((name, at) => [`@steeple/${name}`, `file:${VENDOR}/${files[at]}`])
  return {
    packages: Object.fromEntries(packages),
    copyInto: (dir) => {
      mkdirSync(join(dir, VENDOR), { recursive: true })
      return files.map((file) => {
        copyFileSync(join(folder, file), join(dir, VENDOR, file))
        return join(dir, VENDOR, file)
      })
    },
  }
}

/** In a build, beside everything. */
function ownFolder(): string | undefined {
  const folder = fileURLToPath(new URL('../../../../share/npm/', packageRoot()))
  return existsSync(folder) ? folder : undefined
}

function packagesMissing(folder: string, missing: readonly string[]): Error {
  const there = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.tgz')) : []
  const found = there.length === 0 ? 'no .tgz is there' : `there are ${there.join(', ')}`
  return failure('packages_missing', `${folder} lacks ${missing.join(', ')}; ${found}`, {
    hint: 'npm run pack -- npm in the repository writes them into packed/',
  })
}

export interface WritePluginOptions {
  readonly name: string
  readonly kind: ScaffoldKind
  /** Folder of the package; by the workspace when absent. */
  readonly dir: string | undefined
  readonly cwd: string
  /** Folder with our packages as `.tgz`, or `registry`; those that the build carries when absent. */
  readonly packages?: string
}

export interface WrittenPlugin {
  readonly name: string
  readonly kind: ScaffoldKind
  readonly dir: string
  readonly files: readonly string[]
  /** The commands that build, test and load it. */
  readonly next: string
}

/** As the manifest has it: the id is the start of table and metric names. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const NAME_CHARACTERS = 40

/**
 * Writes a plugin package of that kind that builds to one file and loads. Its conformance suite passes, or fails with what is
 * left to write.
 *
 * Throws `usage` for a name that no plugin can have, `folder_not_empty` instead of writing over anything.
 */
export function writePlugin(options: WritePluginOptions): WrittenPlugin {
  const { name, kind } = options
  if (!NAME.test(name) || name.length > NAME_CHARACTERS)
    throw usageError(
      `${JSON.stringify(name)} is no plugin name; it is like my-driver, at most ${NAME_CHARACTERS} characters`,
    )
  const workspace = findWorkspace(options.cwd)
  const dir = resolve(
    options.cwd,
    options.dir ?? (workspace === undefined ? name : join(workspace, 'packages', name)),
  )
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw failure('folder_not_empty', `${dir} holds files already; name another folder with --dir`)
  const isInside = workspace !== undefined && dirname(dir) === join(workspace, 'packages')
  const { packages, copyInto } = publishedPackages(placeOf(options))
  const files = new Map([
    ...packageFiles({ name, kind, isInside, packages }),
    ...templateFiles(name, kind, isInside),
  ])
  for (const [path, content] of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), content, { flag: 'wx' })
  }
  const copied = isInside ? [] : copyInto(dir)
  const shown = relative(options.cwd, dir)
  const next = nextSteps({
    name,
    kind,
    dir: shown.startsWith('..') ? dir : `./${shown}`,
    workspace: isInside ? workspace : undefined,
  })
  const written = [...files.keys()].map((file) => join(dir, file))
  return { name, kind, dir, files: [...written, ...copied], next }
}

/** Where the packages are, as `publishedPackages` takes it. */
function placeOf({ packages, cwd }: WritePluginOptions): string | undefined {
  return packages === undefined || packages === REGISTRY ? packages : resolve(cwd, packages)
}

function templateFiles(
  name: string,
  kind: ScaffoldKind,
  isInside: boolean,
): readonly (readonly [string, string])[] {
  const templates = fileURLToPath(new URL('templates/', packageRoot()))
  // A project of its own is built by the kit.
  return [...(isInside ? ['common'] : []), kind].flatMap((part) => {
    const folder = join(templates, part)
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((file) => [relative(folder, file), renamed(readFileSync(file, 'utf8'), name)] as const)
  })
}

/** The templates are a plugin called sample-plugin. */
function renamed(text: string, name: string): string {
  const words = name.split('-')
  const pascal = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return text
    .replaceAll('sample-plugin', name)
    .replaceAll('sample_plugin', words.join('_'))
    .replaceAll('SAMPLE_PLUGIN', words.join('_').toUpperCase())
    .replaceAll('SamplePlugin', pascal)
    .replaceAll('samplePlugin', pascal.charAt(0).toLowerCase() + pascal.slice(1))
}

/** The root of the workspace around a folder: the one whose packages/contracts is `@steeple/contracts`. */
function findWorkspace(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'pnpm-workspace.yaml')) && hasContracts(folder)) return folder
    if (dirname(folder) === folder) return undefined
  }
}

function hasContracts(folder: string): boolean {
  try {
    const text = readFileSync(join(folder, 'packages', 'contracts', 'package.json'), 'utf8')
    const manifest: unknown = JSON.parse(text)
    return (manifest as { readonly name?: unknown } | null)?.name === '@steeple/contracts'
  } catch {
    return false
  }
}

interface NextStepsOptions {
  readonly name: string
  readonly kind: ScaffoldKind
  /** As the person would type it; not used inside the workspace. */
  readonly dir: string
  /** The root of the workspace that it is a package of. */
  readonly workspace: string | undefined
}

/** The commands that build, test and load the package, with a word on each. */
function nextSteps({ name, kind, dir, workspace }: NextStepsOptions): string {
  if (workspace !== undefined)
    return `Next, in ${workspace}:
  npx --yes ${pnpm()} install      # links contracts and testkit, notes the package in the lockfile
  npm run build                          # what changed
  npm test -- packages/${name}/          # its conformance suite among them
  svc plugin load ./packages/${name}     # into the running service; --data-dir says where its data is
From the next start on it is part of this build. svc plugin dev ./packages/${name} loads it anew at each change.
${chosenBy(kind, name)}${leftToWrite(kind)}`
  return `Next, with Node 24:
  cd ${dir}
  npm install
  npm run build                # dist/plugin.js: one file
  npm test                     # its conformance suite among them
  svc plugin dev ./            # runs it in the service on this machine, anew at each change; Ctrl-C ends
  svc plugin key ~/plugins.key # once: what you sign with; it prints what goes into the configuration of a service
  npm run pack -- --key ~/plugins.key
  svc plugin load ${name}-0.1.0.tgz
${chosenBy(kind, name)}${leftToWrite(kind)}`
}

/** Of several drivers of a kind the configuration chooses one. */
function chosenBy(kind: ScaffoldKind, name: string): string {
  const key = SELECTED_BY[kind]
  if (key === undefined) return ''
  return `It runs once the configuration chooses it: ${key}: ${name.replaceAll('-', '_')}, then SIGHUP.\n`
}

/** What of a driver nobody but its author knows. */
function leftToWrite(kind: ScaffoldKind): string {
  if (kind !== 'core' && kind !== 'hss') return ''
  return 'Its conformance suite fails where something is left to you, with "here is what to write".\n'
}

/** npm cannot follow `link:` dependencies; the workspace's package manager can. */
function pnpm(): string {
  try {
    const text = readFileSync(new URL('../../package.json', packageRoot()), 'utf8')
    const { packageManager } = JSON.parse(text) as { readonly packageManager?: string }
    return packageManager ?? 'pnpm'
  } catch {
    return 'pnpm'
  }
}
