import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_METRICS } from '@steeple/contracts'
import { ROOT } from '../launch.ts'
import { fetchOpenApi, type OpenApi, operationsOf } from '../openapi.ts'
import type { Service } from '../service.ts'
import { eventsPage } from './events.ts'
import {
  cell,
  codesOf,
  head,
  markedLine,
  markedPart,
  type Part,
  partOf,
  partsHere,
  routesPage,
} from './routes.ts'

const ABOUT_ERRORS = `Every value of \`error.code\`. A code keeps its meaning and is never used again for another one. Act on the code, and show \`message\` to
people. The sign … stands for a value in the message.`

interface Explained {
  readonly code: string
  readonly status: number
  readonly meaning: string
}

/** The page of all error codes. */
function errorsPage(document: OpenApi, parts: readonly Part[]): string {
  // The document says what each code means.
  const explained = Reflect.get(document, 'x-error-codes') as readonly Explained[]
  const rows = [...explained]
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
    .map((one) =>
      markedLine(
        `| \`${one.code}\` | ${one.status} | ${cell(sentence(one.meaning))} |`,
        ownerOf(one.code, document, parts),
      ),
    )
  return `${head('Error codes', 'the OpenAPI document', ABOUT_ERRORS)}\n| Code | Status | Meaning |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** Messages begin without a capital, and end without a full stop. */
function sentence(text: string): string {
  // But for a word such as eSIM.
  const first = text.replace(/^[a-z](?![A-Z])/, (letter) => letter.toUpperCase())
  return /[.!?…]$/.test(first) ? first : `${first}.`
}

/** The plugin that declares a code, or whose routes alone can answer it. */
function ownerOf(code: string, document: OpenApi, parts: readonly Part[]): Part | undefined {
  const declared = parts.find(({ errors }) => errors.some((one) => one.code === code))
  if (declared !== undefined) return declared
  const owners = new Set(
    operationsOf(document)
      .filter(({ object }) => codesOf(object).includes(code))
      .map((operation) => partOf(operation, parts)),
  )
  const [only] = owners
  return owners.size === 1 ? only : undefined
}

/** A layer of docs/explanation/architecture.md: its heading and the packages of its table. */
interface Layer {
  readonly title: string
  readonly packages: readonly string[]
}

const PAGE = 'docs/explanation/architecture.md'
/** Their packages are used for tests alone, by all layers. */
const BESIDE = 'For tests and the lab'
const WIDTH = 900
const LABEL_WIDTH = 200
const CHIP = { height: 26, gap: 8, padding: 12, letter: 7.8 } as const
const STYLE = `
  text { font: 13px ui-monospace, monospace; fill: #1f2933 }
  .layer { font: 600 14px system-ui, sans-serif }
  .row { fill: #f1f5f9 } .chip { fill: #fff; stroke: #94a3b8 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e2e8f0 } .row { fill: #1e293b } .chip { fill: #0f172a; stroke: #64748b }
  }`

/** The picture of the layers. Throws where a package uses one of a layer above its own. */
function architecturePicture(folders: readonly string[]): string {
  const page = readFileSync(join(ROOT, PAGE), 'utf8')
  const layers = layersOf(page).filter(({ title }) => title !== BESIDE)
  const levels = new Map(layers.flatMap(({ packages }, level) => packages.map((name) => [name, level])))
  for (const [name, used] of folders.flatMap(usesOf)) {
    const [own, other] = [levels.get(name), levels.get(used)]
    if (own !== undefined && other !== undefined && other < own)
      throw new Error(`${name} uses ${used}, which ${PAGE} has in a layer above it`)
  }
  let y = 0
  const rows = layers.map(({ title, packages }) => {
    const { chips, height } = chipsOf(packages, y + CHIP.gap)
    const text = `<text class="layer" x="16" y="${y + height / 2 + 5}">${title}</text>`
    const row = `<rect class="row" x="0" y="${y}" width="${WIDTH}" height="${height}" rx="8"/>${text}${chips}`
    y += height + CHIP.gap
    return row
  })
  const size = `viewBox="0 0 ${WIDTH} ${y - CHIP.gap}" width="${WIDTH}" height="${y - CHIP.gap}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="Packages by layer">\n<style>${STYLE}\n</style>\n${rows.join('\n')}\n</svg>\n`
}

function chipsOf(names: readonly string[], top: number): { readonly chips: string; readonly height: number } {
  let [x, y] = [LABEL_WIDTH, top]
  const chips = names.map((name) => {
    const width = Math.ceil(name.length * CHIP.letter) + 2 * CHIP.padding
    if (x + width > WIDTH - CHIP.gap) [x, y] = [LABEL_WIDTH, y + CHIP.height + CHIP.gap]
    const rect = `<rect class="chip" x="${x}" y="${y}" width="${width}" height="${CHIP.height}" rx="5"/>`
    const chip = `${rect}<text x="${x + CHIP.padding}" y="${y + 18}">${name}</text>`
    x += width + CHIP.gap
    return chip
  })
  return { chips: chips.join(''), height: y + CHIP.height + CHIP.gap - (top - CHIP.gap) }
}

function layersOf(page: string): readonly Layer[] {
  const [, tables = ''] = page.split('## Packages\n')
  return tables
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const [title = '', ...lines] = part.split('\n')
      const first = lines.filter((line) => line.startsWith('| `')).map((line) => line.split(' | ')[0] ?? '')
      return {
        title,
        packages: first.flatMap((cell) => [...cell.matchAll(/`([a-z0-9-]+)`/g)].map(([, n = '']) => n)),
      }
    })
}

/** Pairs of a package and one that it is built from. */
function usesOf(folder: string): readonly (readonly [string, string])[] {
  // Of this repository.
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly dependencies?: Readonly<Record<string, string>>
    readonly devDependencies?: Readonly<Record<string, string>>
  }
  const own = '@steeple/'
  return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter((name) => name.startsWith(own))
    .map((name) => [manifest.name.slice(own.length), name.slice(own.length)])
}

const ABOUT = `Every metric of \`GET /metrics\`, of the service and of each of its parts. You may use them in alert rules ([alerts](../monitoring/README.md)).
Labels are from closed sets, and no label names a person. Installed plugins add their own metrics.`

/** The page of all metrics. `served`: the text of `/metrics` of a running service. */
function metricsPage(served: string, names: readonly string[], parts: readonly Part[]): string {
  const help = new Map(
    [...served.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = '', text = '']) => [name, text]),
  )
  const own = [...names].sort().map((name) => {
    const text = help.get(name)
    if (text === undefined) throw new Error(`/metrics does not explain ${name}`)
    return [name, text] as const
  })
  const groups = parts
    .filter(({ metrics }) => Object.keys(metrics).length > 0)
    .map((part) => markedPart(`## ${part.name}\n\n${tableOf(Object.entries(part.metrics))}`, part))
  return `${head('Metrics', 'manifests and /metrics', ABOUT)}\n## The service itself\n\n${tableOf(own)}\n\n${groups.join('\n\n')}\n`
}

function tableOf(rows: readonly (readonly [string, string])[]): string {
  return `| Metric | Meaning |\n|---|---|\n${rows.map(([name, text]) => `| \`${name}\` | ${text.replaceAll('|', '\\|')} |`).join('\n')}`
}

// A script of the repository, and of no package.
const { workspaceFolders }: { workspaceFolders(): readonly string[] } = await import(
  `${ROOT}/scripts/workspace.mjs`
)

/** What is made from what a running service and the packages say of themselves, by the names of files from `docs/reference`. */
export async function referencePages(service: Service): Promise<ReadonlyMap<string, string>> {
  const document = await fetchOpenApi(service.url)
  const parts = partsHere()
  const served = await (await fetch(`${service.url}/metrics`)).text()
  return new Map([
    ['routes.md', routesPage(document, parts)],
    ['errors.md', errorsPage(document, parts)],
    ['metrics.md', metricsPage(served, SERVICE_METRICS, parts)],
    ['events.md', eventsPage(document, parts)],
    ['cli.md', commandsPage()],
    ['../explanation/architecture.svg', architecturePicture(workspaceFolders())],
  ])
}

/** From the definitions of the commands, by a script of their package. */
function commandsPage(): string {
  const script = join(ROOT, 'packages/cli/scripts/make-cli-docs.mjs')
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--no-warnings', script, '--print'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the commands could not be described: ${stderr}`)
  return stdout
}
