import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, suite } from '@steeple/testkit'
import { slugger, targetOf } from '../src/links.ts'
import { packagesIn } from '../src/marks.ts'
import { type Documentation, INDEX, type Page, readDocumentation } from '../src/pages.ts'
import { renderPage } from '../src/render.ts'
import { entriesOf, groupsOf } from '../src/site.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
// A script of the repository, and of no package.
const { workspaceFolders }: { workspaceFolders(): readonly string[] } = await import(
  `${ROOT}scripts/workspace.mjs`
)
const NOTHING: ReadonlySet<string> = new Set()
/** Names of files in sources of others, which begin as ours do. */
const FOREIGN = ['docs/backends/stdio-schema.json']

/** The headings of a page by its text: most pages are the same whatever is left out, and need not be rendered again. */
const ANCHORS = new Map<string, ReadonlySet<string>>()

const links = suite('docs/links')

links(
  'lead somewhere, anchors included, whatever package a build leaves out',
  () => {
    assert.equal(problemsOf(readDocumentation(ROOT, NOTHING)), [])
    for (const name of optional())
      assert.equal(problemsOf(readDocumentation(ROOT, new Set([name]))), [], `without ${name}`)
    assert.equal(problemsOf(readDocumentation(ROOT, new Set(optional()))), [], 'without any of them')
  },
  { limitMs: 120_000 },
)

links('reach every page from the index', () => {
  const documentation = readDocumentation(ROOT, NOTHING)
  const decisions = entriesOf(
    documentation.pages.get('adr/README.md')?.text ?? '',
    'adr/README.md',
    documentation,
  )
  const listed = [...groupsOf(documentation).flatMap(({ entries }) => entries), ...decisions]
  const paths = new Set([INDEX, ...listed.map(({ path }) => path)])
  assert.equal(
    [...documentation.pages.keys()].filter((path) => !paths.has(path)),
    [],
  )
})

links('of marks name packages that a build can lack', () => {
  const names = new Set(optional())
  const marked = filesIn('docs', ['.md']).flatMap((path) =>
    [...packagesIn(read(path))].filter((name) => !names.has(name)).map((name) => `${path}: ${name}`),
  )
  assert.equal(marked, [])
})

links('from READMEs and what else stands at the root hold', () => {
  const files = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...workspaceFolders().map((folder) => `${folder}/README.md`),
  ]
  const dead = files
    .filter((path) => existsSync(join(ROOT, path)))
    .flatMap((path) => deadIn(path, read(path)))
  assert.equal(dead, [])
})

links('that errors, alert rules, comments and scripts name are there', () => {
  const files = [
    ...filesIn('docs', ['.md', '.yml', '.json', '.py']),
    ...filesIn('scripts', ['.mjs']),
    ...workspaceFolders().flatMap((folder) => [
      ...filesIn(`${folder}/src`, ['.ts']),
      ...filesIn(`${folder}/test`, ['.ts']),
      ...filesIn(`${folder}/harness`, ['.ts']),
      ...filesIn(`${folder}/templates`, ['']),
      `${folder}/package.json`,
    ]),
    'SECURITY.md',
    'CONTRIBUTING.md',
  ].filter((path) => existsSync(join(ROOT, path)))
  const dead = files.flatMap((path) =>
    [...read(path).matchAll(/(?<![\w/.-])docs\/[\w/-]+\.(?:md|py|ya?ml|json)\b/g)]
      .map(([named]) => named)
      .filter((named) => !FOREIGN.includes(named) && !existsSync(join(ROOT, named)))
      .map((named) => `${path}: ${named}`),
  )
  assert.equal(dead, [])
})

links.run()

function anchorsOf(page: Page, documentation: Documentation): ReadonlySet<string> {
  const known =
    ANCHORS.get(page.text) ?? new Set(renderPage(page, documentation).sections.map(({ anchor }) => anchor))
  ANCHORS.set(page.text, known)
  return known
}

/** What is wrong with the links of a documentation. */
function problemsOf(documentation: Documentation): readonly string[] {
  const anchors = new Map(
    [...documentation.pages.values()].map((page) => [page.path, anchorsOf(page, documentation)]),
  )
  const problemOf = (href: string, from: string): string | undefined => {
    const target = targetOf(href, from, documentation)
    if (target.kind === 'nowhere') return 'is not there'
    if (target.kind === 'outside') return existsSync(join(ROOT, target.path)) ? undefined : 'is not there'
    const path = target.kind === 'page' ? target.path : from
    const anchor = target.kind === 'page' ? target.anchor : (/^#(.+)$/.exec(href)?.[1] ?? '')
    return anchor === '' || anchors.get(path)?.has(anchor) ? undefined : 'has no such heading'
  }
  return [...documentation.pages.values()].flatMap((page) =>
    linksIn(page.text).flatMap((href) => {
      const problem = problemOf(href, page.path)
      return problem === undefined ? [] : [`${page.path}: ${href} ${problem}`]
    }),
  )
}

/** Links of a file of the repository that lead to no file, or to no heading of it. */
function deadIn(path: string, text: string): readonly string[] {
  return linksIn(text)
    .filter((href) => !/^[a-z]+:/.test(href))
    .filter((href) => {
      const [way = '', anchor = ''] = href.split('#')
      const target = way === '' ? path : posix.normalize(posix.join(posix.dirname(path), way))
      if (!existsSync(join(ROOT, target))) return true
      return anchor !== '' && !headingsOf(read(target)).includes(anchor)
    })
    .map((href) => `${path}: ${href}`)
}

function headingsOf(text: string): readonly string[] {
  const slug = slugger()
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    slug(title.replaceAll('`', '')),
  )
}

function linksIn(text: string): readonly string[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => href)
}

function withoutCode(text: string): string {
  return text
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]]/g, ' '))
}

/** What `npm run build -- --without` takes. */
function optional(): readonly string[] {
  const isOptional = (folder: string): boolean => {
    // Manifests of this repository.
    const { steeple } = JSON.parse(read(`${folder}/package.json`)) as {
      readonly steeple?: { readonly essential?: boolean }
    }
    return steeple !== undefined && steeple.essential !== true
  }
  return [
    ...workspaceFolders()
      .filter(isOptional)
      .map((folder) => folder.slice('packages/'.length)),
    'lab-core',
  ]
}

/** Files below a folder of the repository with one of these endings, from the root. */
function filesIn(folder: string, endings: readonly string[]): readonly string[] {
  if (!existsSync(join(ROOT, folder))) return []
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .filter((path) => !/(^|\/)(node_modules|dist|made)\//.test(path))
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
