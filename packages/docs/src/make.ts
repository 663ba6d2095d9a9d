// Makes the site: node src/make.ts [--out DIR] [--without a,b]. Without --out into dist/, where the service of this checkout finds it.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeApiPages } from './api-pages.ts'
import { MADE, readDocumentation } from './pages.ts'
import { siteOf } from './site.ts'
import { watchingFor } from './watching.ts'

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
