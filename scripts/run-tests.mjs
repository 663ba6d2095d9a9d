// Runs every package's test files, each in a process of its own, a few at a time, and counts what uvu counted.
// `--e2e` runs packages/e2e alone; without it every other package. Further arguments select files by part of the path.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const isE2e = process.argv.includes('--e2e')
const wanted = process.argv.slice(2).filter((a) => !a.startsWith('--'))
const LIMIT_MS = isE2e ? 30 * 60_000 : 5 * 60_000
const files = readdirSync(join(root, 'packages'))
  .filter((name) => (name === 'e2e') === isE2e && existsSync(join(root, 'packages', name, 'test')))
  .flatMap((name) => list(join('packages', name, 'test')))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()

const startedAt = Date.now()
const total = { passed: 0, failed: 0 }
// Those on containers have namespaces of their own and mostly wait: two at a time. Other e2e files use the whole machine,
// one after another.
const isApart = (file) => isE2e && /\/(real-[^/]+|scenario)\.test\.ts$/.test(file)
await workers(files.filter(isApart).reverse(), 2)
await workers(
  files.filter((file) => !isApart(file)),
  isE2e ? 1 : Math.max(2, availableParallelism()),
)
process.stdout.write(`\n${files.length} files in ${Math.round((Date.now() - startedAt) / 1000)} s\n`)
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`)
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1)

async function workers(queue, count) {
  await Promise.all(Array.from({ length: count }, () => worker(queue)))
}

async function worker(queue) {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) report(file, await runFile(file))
}

function report(file, { code, output, seconds }) {
  const count = counts(output)
  const need = /^needs (.+)$/m.exec(output)?.[1]
  if (code === 0 && count.total === 0 && need !== undefined) {
    process.stdout.write(`none ${file}: it needs ${need}, which .ci/run sets\n`)
    return
  }
  const isBad = code !== 0 || count.total === 0
  total.passed += count.passed
  total.failed += isBad ? Math.max(1, count.total - count.passed) : 0
  process.stdout.write(
    `${isBad ? 'FAIL' : 'ok  '} ${file} ${count.passed}/${count.total} ${seconds.toFixed(1)} s\n`,
  )
  if (isBad) process.stdout.write(`${output}\n${count.total === 0 ? 'no test ran\n' : ''}`)
  else if (isE2e)
    process.stdout.write(
      output
        .split('\n')
        .filter((line) => line.startsWith('# '))
        .map((line) => `     ${line}\n`)
        .join(''),
    )
}

/** uvu prints its totals once a file: `Total: 3`, `Passed: 3`. */
function counts(output) {
  const number = (label) =>
    [...output.matchAll(new RegExp(`${label}:\\s+(\\d+)`, 'g'))].reduce((sum, m) => sum + Number(m[1]), 0)
  return { total: number('Total'), passed: number('Passed') }
}

function runFile(file) {
  return new Promise((resolve) => {
    const begun = Date.now()
    const parts = file.split('/')
    const child = spawn(process.execPath, ['--no-warnings', parts.slice(2).join('/')], {
      cwd: join(root, parts[0], parts[1]),
      env: { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const take = (chunk) => {
      output = (output + chunk).slice(-200_000)
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    const timer = setTimeout(() => {
      output += `\nkilled after ${LIMIT_MS / 1000} s`
      child.kill('SIGKILL')
    }, LIMIT_MS)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code: code ?? 1, output, seconds: (Date.now() - begun) / 1000 })
    })
  })
}

function list(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return list(path)
    return entry.name.endsWith('.test.ts') ? [path] : []
  })
}
