import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'

/** The packages that plugins import, and what the page of each begins with. */
export const PAGES = {
  contracts: "What a plugin sees of the service: `import { … } from '@steeple/contracts'`.",
  testkit:
    "What tests of plugins use: `import { … } from '@steeple/testkit'`. The conformance suites are among them.",
} as const

/** A package with a page. */
export type PageName = keyof typeof PAGES

/** The page of a package's API, `docs/reference/api-<name>.md`, made of its declarations (built before). */
export function apiPage(name: PageName): string {
  const entities = declarationsOf(name).split(/\n\n(?=\/\*\*|export |declare )/)
  const exported = entities.flatMap((text) => {
    const title = /^export declare (?:abstract )?\w+ (\w+)/m.exec(text)?.[1]
    return title === undefined ? [] : [`## ${title}\n\n\`\`\`ts\n${plain(text)}\n\`\`\`\n`]
  })
  return `# ${name === 'contracts' ? 'Contracts' : 'Testkit'}

${PAGES[name]} Made of its declarations by \`node testing/plugin-kit/scripts/make-api-docs.mjs\`: a
change here is a change of what plugins are written against, and says so in its changeset.

${exported.join('\n')}`
}

/** All declarations of a package as one file, by name. */
function declarationsOf(name: PageName): string {
  const place = name === 'testkit' ? '../../testkit' : `../../../packages/${name}`
  const projectFolder = fileURLToPath(new URL(place, import.meta.url))
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
