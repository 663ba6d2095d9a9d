import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'

/** The packages that plugins import, and what the page of each begins with. */
const PAGES = {
  contracts: "What a plugin sees of the service: `import { … } from '@steeple/contracts'`.",
  testkit:
    "What tests of plugins use: `import { … } from '@steeple/testkit'`. The conformance suites are among them.",
} as const

type PageName = keyof typeof PAGES

/** Writes the pages of what plugins import, `reference/api-<name>.md` below `to`, of declarations that are built. */
export function writeApiPages(root: string, to: string): void {
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
