// Makes the site: node src/make.ts [--out DIR] [--without a,b]. Without --out into dist/, where the service of this checkout finds it.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'
import { MADE, readDocumentation } from './pages.ts'
import { siteOf } from './site.ts'
import { watchingFor } from './watching.ts'

/** The packages that plugins import, and what the page of each begins with. */
const PAGES = {
  contracts: "What a plugin sees of the service: `import { … } from '@steeple/contracts'`.",
  testkit:
    "What tests of plugins use: `import { … } from '@steeple/testkit'`. The conformance suites are among them.",
} as const

type PageName = keyof typeof PAGES

/** Writes the pages of what plugins import, `reference/api-<name>.md` below `to`, of declarations that are built. */
function writeApiPages(root: string, to: string): void {
  mkdirSync(join(to, 'reference'), { recursive: true })
  for (const name of ['contracts', 'testkit'] as const)
    writeFileSync(join(to, `reference/api-${name}.md`), apiPage(name, root))
}

function apiPage(name: PageName, root: string): string {
  const entities = declarationsOf(name, root).split(/\n\n(?=\/\*\*|export |declare )/)
  const exported = entities.flatMap((text) => {
    const title = /^export declare (?:abstract )?\w+ (\w+)/m.exec(text)?.[1]
    return title === undefined ? [] : [`## ${title}\n\n\`\`\`ts\n${plain(text)}\n\`\`\`\n`]
  })
  return `# ${name === 'contracts' ? 'Contracts' : 'Testkit'}

${PAGES[name]} Made of its declarations: a change here is a change of what plugins are
written against, and says so in its changeset.

${exported.join('\n')}`
}

/** All declarations of a package as one file, by name. */
function declarationsOf(name: PageName, root: string): string {
  const projectFolder = join(root, name === 'testkit' ? 'testing/testkit' : 'packages/contracts')
  const folder = mkdtempSync(join(tmpdir(), 'steeple-api-'))
  const file = join(folder, 'all.d.ts')
  try {
    const config = ExtractorConfig.prepare({
      configObject: {
        projectFolder,
        mainEntryPointFilePath: join(projectFolder, 'dist/index.d.ts'),
        compiler: { overrideTsconfig: compilerOf(projectFolder) },
        dtsRollup: { enabled: true, untrimmedFilePath: file },
        newlineKind: 'lf',
      },
      configObjectFullPath: undefined,
      packageJsonFullPath: join(projectFolder, 'package.json'),
    })
    Extractor.invoke(config, {
      localBuild: true,
      messageCallback: (message) => {
        // How comments are marked up is no matter of this page.
        message.handled = true
      },
    })
    return readFileSync(file, 'utf8').trimEnd()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As a project of a plugin has it; the extractor has a compiler of its own. */
function compilerOf(projectFolder: string): object {
  return {
    compilerOptions: {
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      module: 'nodenext',
      moduleResolution: 'nodenext',
      strict: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(projectFolder, 'node_modules/@types')],
    },
    include: [join(projectFolder, 'dist/index.d.ts')],
  }
}

function plain(text: string): string {
  return text
    .replaceAll(/^export declare /gm, 'export ')
    .replaceAll(/^\s*\/\* Excluded from this release type.*\n/gm, '')
}

interface Manifest {
  readonly steeple?: { readonly metrics?: Readonly<Record<string, string>> }
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const STATIC = fileURLToPath(new URL('page/static/', import.meta.url))

const { values } = parseArgs({ options: { out: { type: 'string' }, without: { type: 'string' } } })
const out = values.out ?? dist
const lacks = new Set((values.without ?? '').split(','))
if (out === dist) writeApiPages(root, join(root, MADE))
const documentation = readDocumentation(root, lacks)

for (const [path, text] of siteOf(documentation)) put(path, text)
for (const path of documentation.files)
  put(path, watchingFor(path, readFileSync(join(root, 'docs', path), 'utf8'), lackedMetrics()))
for (const name of ['site.css', 'icon.svg']) copy(join(STATIC, name), name)
if (out !== dist) for (const name of ['site.js', 'api.js']) copy(join(dist, name), name)

/** The metrics of packages that the build is without, by their manifests. */
function lackedMetrics(): readonly string[] {
  return [...lacks].flatMap((name) => {
    const path = join(root, 'packages', name, 'package.json')
    if (name === '' || !existsSync(path)) return []
    const { steeple }: Manifest = JSON.parse(readFileSync(path, 'utf8'))
    return Object.keys(steeple?.metrics ?? {})
  })
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(out, path)), { recursive: true })
  writeFileSync(join(out, path), text)
}

function copy(from: string, path: string): void {
  mkdirSync(dirname(join(out, path)), { recursive: true })
  copyFileSync(from, join(out, path))
}
