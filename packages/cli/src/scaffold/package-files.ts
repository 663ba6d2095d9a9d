import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jsonText } from '../output/print.ts'
import { packageRoot } from '../package-root.ts'
import { type ScaffoldKind, SELECTED_BY } from './kinds.ts'

/** What the generated files depend on. */
export interface PackageFilesOptions {
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
export function packageFiles(options: PackageFilesOptions): readonly (readonly [string, string])[] {
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
    ...(kind === 'feature' ? { paths: { [`/v1/${name}`]: {} } } : {}),
    ...(requires.length === 0 ? {} : { requires }),
    ...(given.length === 0 ? {} : { provides: given }),
    ...(SELECTED_BY[kind] === undefined
      ? {}
      : { selected_by: { key: SELECTED_BY[kind], values: [name.replaceAll('-', '_')] } }),
    // A driver owns what it drives: two copies at once would fight over it.
    handover: kind === 'feature' || kind === 'collector' ? 'overlap' : 'exclusive',
  }
}

/** Version of `@steeple/contracts` of this installation, and of what is published with it. */
export function contractsVersion(): string {
  const text = readFileSync(`${folderOf('@steeple/contracts')}/package.json`, 'utf8')
  // The file is this installation's own.
  return (JSON.parse(text) as { readonly version: string }).version
}

/** Packages of one installation lie side by side. */
function folderOf(packageName: string): string {
  return `${dirname(fileURLToPath(packageRoot()))}/${packageName.replace('@steeple/', '')}`
}
