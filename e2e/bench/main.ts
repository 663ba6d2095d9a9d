// npm run bench [-- part of a name …]: measures, prints a table, writes JSON to bench-results/.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { benchAlerts } from './alerts.ts'
import { benchBackup } from './backup.ts'
import { benchCollectorFree5gc } from './collector-free5gc.ts'
import { benchCollectorMme } from './collector-mme.ts'
import { benchCompliance } from './compliance.ts'
import { benchConsoleBytes } from './console-bytes.ts'
import { benchConsoleChanges } from './console-changes.ts'
import { benchConsoleFirst } from './console-first.ts'
import { benchConsoleIdle } from './console-idle.ts'
import { benchConsoleScroll } from './console-scroll.ts'
import { benchCut } from './cut.ts'
import { benchEsim } from './esim.ts'
import { benchGeneration } from './generation.ts'
import { benchHeartbeats } from './heartbeats.ts'
import { benchImport, benchReconcile } from './hss.ts'
import { benchIdle } from './idle.ts'
import { benchInstances } from './instances.ts'
import { benchLabCore } from './lab-core.ts'
import { benchList } from './list.ts'
import { benchLogin } from './login.ts'
import type { Finding } from './measure.ts'
import { benchIssue, benchMutation } from './mutation.ts'
import { benchPackaged } from './packaged.ts'
import { benchPeople } from './people.ts'
import { benchQuotaCut } from './quota-cut.ts'
import { benchRead } from './read.ts'
import { benchSessions } from './sessions.ts'
import { benchSizes } from './sizes.ts'
import { benchStart } from './start.ts'
import { benchTap } from './tap.ts'
import { benchTls } from './tls.ts'
import { benchTokenCheck } from './token-check.ts'

const SUITES: Readonly<Record<string, () => Promise<readonly Finding[]>>> = {
  start: benchStart,
  packaged: benchPackaged,
  read: benchRead,
  'token-check': benchTokenCheck,
  tls: benchTls,
  people: benchPeople,
  login: benchLogin,
  heartbeats: benchHeartbeats,
  mutation: benchMutation,
  issue: benchIssue,
  list: benchList,
  sizes: benchSizes,
  idle: benchIdle,
  alerts: benchAlerts,
  backup: benchBackup,
  compliance: benchCompliance,
  import: benchImport,
  reconcile: benchReconcile,
  generation: benchGeneration,
  'lab-core': benchLabCore,
  cut: benchCut,
  'collector-free5gc': benchCollectorFree5gc,
  instances: benchInstances,
  'collector-mme': benchCollectorMme,
  sessions: benchSessions,
  'quota-cut': benchQuotaCut,
  tap: benchTap,
  esim: benchEsim,
  'console-changes': benchConsoleChanges,
  'console-scroll': benchConsoleScroll,
  'console-first': benchConsoleFirst,
  'console-idle': benchConsoleIdle,
  'console-bytes': benchConsoleBytes,
}

const wanted = process.argv.slice(2)
const findings: Finding[] = []
for (const [name, suite] of Object.entries(SUITES)) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
  process.stderr.write(`${name} …\n`)
  findings.push(...(await suite()))
}

const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
const rows = findings.map((finding) => [
  finding.name,
  `${number(finding.value)} ${finding.unit}`,
  finding.beside === undefined
    ? ''
    : `${number(finding.beside.value)} ${finding.unit} (${finding.beside.what})`,
  finding.beside === undefined ? '' : `${Math.round((100 * finding.value) / finding.beside.value)} %`,
  finding.target,
  finding.isMet ? 'met' : 'MISSED',
])
const table = [['measured', 'value', 'beside', 'share', 'target', ''], ...rows]
const widths = (table[0] ?? []).map((_, column) =>
  Math.max(...table.map((row) => (row[column] ?? '').length)),
)
for (const row of table)
  process.stdout.write(
    `${row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()}\n`,
  )

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../bench-results')
mkdirSync(folder, { recursive: true })
const at = new Date().toISOString()
const path = join(folder, `${at.replaceAll(':', '-')}.json`)
writeFileSync(
  path,
  `${JSON.stringify({ at, node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, findings }, null, 2)}\n`,
)
process.stdout.write(`\nwritten to ${path}\n`)
process.exit(findings.every(({ isMet }) => isMet) ? 0 : 1)
