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
const TOOLS = { tsup: '9.0.0', uvu: '0.5.6', '@types/node': '24.0.0', typescript: '7.0.2' } as const

const INSIDE_FILES: readonly (readonly [string, string])[] = [
  ['turbo.json', jsonText({ extends: ['//'], tags: ['plugin'], tasks: {} })],
]
const OUTSIDE_FILES: readonly (readonly [string, string])[] = [
  ['.gitignore', 'node_modules/\ndist/\n'],
  // tsup's compiler fetches its binary in an install script.
  ['pnpm-workspace.yaml', 'allowBuilds:\n  esbuild: true\n'],
]

/** `package.json`, the compiler's files and, inside the workspace, the boundary tag: path → content. */
export function packageFiles(options: PackageFilesOptions): readonly (readonly [string, string])[] {
  const { isInside } = options
  return [
    ['package.json', jsonText(manifest(options))],
    ['tsconfig.json', jsonText(buildConfig(isInside))],
    ['tsconfig.test.json', jsonText(testConfig())],
    ...(isInside ? INSIDE_FILES : OUTSIDE_FILES),
  ]
}

function manifest({ name, kind, isInside }: PackageFilesOptions): object {
  const { typescript, ...tools } = TOOLS
  return {
    name: isInside ? `@steeple/${name}` : name,
    version: '0.1.0',
    private: true,
    description: DESCRIPTIONS[kind],
    ...(isInside ? { license: 'Apache-2.0' } : {}),
    type: 'module',
    exports: { '.': { types: './dist/plugin.d.ts', default: './dist/plugin.js' } },
    files: ['dist', ...(kind === 'hss' ? [] : ['config.schema.json'])],
    scripts: {
      build: 'tsup && tsc -p tsconfig.json --emitDeclarationOnly',
      typecheck: 'tsc -p tsconfig.test.json --noEmit',
      test: `${NEEDS_TYPES} && uvu test "\\.test\\.ts$"`,
    },
    steeple: steeple(name, kind),
    dependencies: { '@steeple/contracts': isInside ? 'workspace:*' : linkTo('@steeple/contracts') },
    devDependencies: {
      '@steeple/testkit': isInside ? 'workspace:*' : linkTo('@steeple/testkit'),
      ...(isInside ? { ...tools, '@types/node': '^24.0.0' } : { ...tools, typescript }),
    },
  }
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

function buildConfig(isInside: boolean): object {
  const own = { rootDir: 'src', outDir: 'dist' }
  if (isInside) return { extends: '../../tsconfig.base.json', compilerOptions: own, include: ['src'] }
  return { compilerOptions: { ...COMPILER, ...own }, include: ['src'] }
}

function testConfig(): object {
  return {
    extends: './tsconfig.json',
    compilerOptions: { rootDir: '.', noEmit: true, isolatedDeclarations: false, declaration: false },
    include: ['src', 'test'],
  }
}

/** The workspace's `tsconfig.base.json`, for a package outside of it. */
const COMPILER = {
  target: 'es2024',
  lib: ['es2024', 'esnext.disposable'],
  module: 'nodenext',
  moduleResolution: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  rewriteRelativeImportExtensions: true,
  isolatedDeclarations: true,
  declaration: true,
  noImplicitOverride: true,
  noFallthroughCasesInSwitch: true,
  skipLibCheck: true,
  types: ['node'],
} as const

/** A package of this installation, by its folder. */
function linkTo(packageName: string): string {
  return `link:${folderOf(packageName)}`
}

function contractsVersion(): string {
  const text = readFileSync(`${folderOf('@steeple/contracts')}/package.json`, 'utf8')
  // The file is this installation's own.
  return (JSON.parse(text) as { readonly version: string }).version
}

/** Packages of one installation lie side by side. */
function folderOf(packageName: string): string {
  return `${dirname(fileURLToPath(packageRoot()))}/${packageName.replace('@steeple/', '')}`
}
