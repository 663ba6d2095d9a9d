import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import type { Run } from './runs.ts'

/** Programs in the order of the page. One that has no run is said to have none. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  Cores: ['Open5GS', 'free5GC', 'Ella Core'],
  Databases: ['MongoDB', 'FerretDB', 'mongo-java-server', 'mongosh', 'PostgreSQL'],
  'Cards and eSIMs': ['pySim', 'lpac'],
  'Radios and phones': ['srsRAN 4G', 'srsRAN Project', 'UERANSIM', 'GenieACS', 'phones in hardware'],
  'What it runs on': ['Debian', 'systemd', 'podman', 'Docker Engine'],
  'What looks at it': ['Prometheus', 'Chromium', 'nginx', 'Caddy'],
}

const HEAD = `# Compatibility

<!-- Made by e2e/harness/compatibility/make.ts from what the tests wrote down. Do not edit. -->

The versions that were really run, when, and what held: a test of the repository, or a page that was followed by hand. Another version may
work as well. Nobody has tried it.
`

/** The page of what was run. Throws for a program that it has no place for. */
export function compatibilityPage(runs: readonly Run[]): string {
  const known = new Set(Object.values(PARTS).flat())
  const stranger = runs.find(({ program }) => !known.has(program))
  if (stranger !== undefined)
    throw new Error(`the page has no place for ${stranger.program}; add it to PARTS`)
  const parts = Object.entries(PARTS).map(([title, programs]) => {
    const rows = programs.flatMap((program) => rowsOf(program, runs))
    return `\n## ${title}\n\n| program | version | last run | held by |\n|---|---|---|---|\n${rows.join('\n')}\n`
  })
  return HEAD + parts.join('')
}

/** A row for each version, the newest run first. */
function rowsOf(program: string, runs: readonly Run[]): readonly string[] {
  const own = runs.filter((run) => run.program === program)
  if (own.length === 0) return [`| ${program} | none yet | | |`]
  const versions = [...new Set(own.map(({ version }) => version))]
  const rows = versions.map((version) => {
    const of = own.filter((run) => run.version === version)
    const [date = ''] = of.map((run) => run.date).toSorted((a, b) => b.localeCompare(a))
    return {
      date,
      text: `| ${program} | ${version} | ${date} | ${of.map(({ by }) => linkOf(by)).join(', ')} |${markOf(of)}`,
    }
  })
  return rows.toSorted((a, b) => b.date.localeCompare(a.date)).map(({ text }) => text)
}

/** A page is a link from docs/reference, a test its name. */
function linkOf(by: string): string {
  if (by.startsWith('docs/')) return `[by hand](../${by.slice('docs/'.length)})`
  return `\`${by.replace(/^e2e\/test\//, '').replace(/\.(e2e\.)?test\.ts$/, '')}\``
}

/** What leaves a row out where the page that it links to is left out. */
function markOf(runs: readonly Run[]): string {
  const packages = runs.map(({ by }) =>
    by.startsWith('docs/') ? /^package: (\S+)$/m.exec(readFileSync(join(ROOT, by), 'utf8'))?.[1] : undefined,
  )
  const [only] = packages
  return only !== undefined && packages.every((one) => one === only) ? ` <!-- package: ${only} -->` : ''
}
