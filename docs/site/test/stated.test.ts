import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, suite } from '@steeple/testkit'

/** What texts for people say that there is, held to what there is. */
const stated = suite('docs/stated')

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
// A script of the repository, and of no package.
const { workspaceFolders }: { workspaceFolders(): readonly string[] } = await import(
  `${ROOT}scripts/workspace.mjs`
)

stated('where it says how it is built: each package once, and none that is not there', () => {
  const [, tables = ''] = read('docs/explanation/architecture.md').split('## Packages\n')
  const named = tables
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`([a-z0-9-]+)`/g)].map(([, name]) => name))
  assert.equal(named.toSorted(), packages())
})

stated('in SECURITY.md: each route that answers without a credential, and no other', () => {
  const open = [...read('docs/reference/routes.md').matchAll(/^\| `[A-Z]+ (\S+)` \| none \|/gm)].map(
    ([, path = '']) => path,
  )
  const [, promise = ''] =
    /^- (No route answers without a credential[\s\S]*?)^- /m.exec(read('SECURITY.md')) ?? []
  const named = [...promise.matchAll(/`(\/[^`]*)`/g)].map(([, path = '']) => path)
  const isMeant = (name: string, path: string): boolean =>
    name.endsWith('/…') ? path.startsWith(name.slice(0, -1)) : name === path
  assert.equal(
    open.filter((path) => !named.some((name) => isMeant(name, path))),
    [],
    'routes that it does not name',
  )
  assert.equal(
    named.filter((name) => !open.some((path) => isMeant(name, path))),
    [],
    'what it names needs a credential',
  )
})

stated('where a box is upgraded: each step over the store since the last release', () => {
  const since = packages().flatMap(stepsSinceRelease)
  const named = [...read('docs/how-to/upgrade.md').matchAll(/`(\d{4}_\w+)`/g)].map(([, id]) => id)
  assert.equal(named.toSorted(), since.toSorted())
})

stated('in CONTRIBUTING: the places of a field of a SIM, by files that are there', () => {
  const [, section = ''] = read('CONTRIBUTING.md').split('## The way of a field of a SIM')
  const [table = ''] = section.split('\n## ')
  const named = table
    .split('\n')
    .flatMap((line) => [...line.matchAll(/\b(sims|cli|e2e): ((?:`[^`]+`(?:, )?)+)/g)])
    .flatMap(([, where = '', files = '']) =>
      [...files.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) =>
        where === 'e2e' ? `e2e/${file}` : `packages/${where}/src/${file}`,
      ),
    )
  assert.ok(named.length > 10, String(named.length))
  assert.equal(
    named.filter((path) => !existsSync(join(ROOT, path))),
    [],
  )
})

stated.run()

/** The steps of a plugin that its newest frozen release has not. */
function stepsSinceRelease(name: string): readonly string[] {
  const frozen = join(ROOT, 'packages', name, 'fixtures/released')
  if (!existsSync(frozen)) return []
  const [newest = ''] = readdirSync(frozen).toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  // Written by scripts/freeze-release.mjs.
  const { migrations } = JSON.parse(readFileSync(join(frozen, newest), 'utf8')) as {
    readonly migrations: readonly { readonly id: string }[]
  }
  const released = new Set(migrations.map(({ id }) => id))
  return stepsOf(name).filter((id) => !released.has(id))
}

function stepsOf(name: string): readonly string[] {
  const folder = join(ROOT, 'packages', name, 'src')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
  return sources.flatMap((path) =>
    [...readFileSync(join(folder, path), 'utf8').matchAll(/\bid: '(\d{4}_\w+)'/g)].map(([, id = '']) => id),
  )
}

function packages(): readonly string[] {
  return workspaceFolders()
    .map((folder) => basename(folder))
    .toSorted()
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
