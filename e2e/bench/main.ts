// npm run bench [-- part of a name …]: measures, prints a table, writes JSON to bench-results/.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../harness/launch.ts'
import type { Bench, Finding } from './bench.ts'
import { CHANGES } from './changes.ts'
import { COLLECTORS } from './collectors.ts'
import { CONSOLE } from './console.ts'
import { CONSOLE_CHANGES } from './console-changes.ts'
import { CORE } from './core.ts'
import { EDGE } from './edge.ts'
import { FLEET } from './fleet.ts'
import { LOGINS } from './logins.ts'
import { SIMS } from './sims.ts'
import { SIZES_BENCH } from './sizes.ts'
import { STORES } from './stores.ts'

const BENCHES: readonly Bench[] = [
  ...[
    EDGE,
    LOGINS,
    FLEET,
    CHANGES,
    SIMS,
    [SIZES_BENCH, STORES],
    CORE,
    COLLECTORS,
    [CONSOLE_CHANGES],
    CONSOLE,
  ].flat(),
]

const wanted = process.argv.slice(2)
const findings: Finding[] = []
for (const { name, about, run } of BENCHES) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
  process.stderr.write(`${name}: ${about} …\n`)
  await using stage = new AsyncDisposableStack()
  findings.push(...(await run(stage)))
}

const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
const rows = findings.map(({ name, value, unit, beside, target, isMet }) => [
  name,
  `${number(value)} ${unit}`,
  beside === undefined ? '' : `${number(beside.value)} ${unit} (${beside.what})`,
  beside === undefined ? '' : `${Math.round((100 * value) / beside.value)} %`,
  target,
  isMet ? 'met' : 'MISSED',
])
const table = [['measured', 'value', 'beside', 'share', 'target', ''], ...rows]
const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
for (const row of table) {
  const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
  process.stdout.write(`${cells.join('  ').trimEnd()}\n`)
}

const folder = join(ROOT, 'bench-results')
mkdirSync(folder, { recursive: true })
const at = new Date().toISOString()
const path = join(folder, `${at.replaceAll(':', '-')}.json`)
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length }
writeFileSync(path, `${JSON.stringify({ at, ...machine, findings }, null, 2)}\n`)
process.stdout.write(`\nwritten to ${path}\n`)
process.exit(findings.every(({ isMet }) => isMet) ? 0 : 1)
