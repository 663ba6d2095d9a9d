// Runs test files one after another in this process, each in the folder of its package: starting Node and loading what it tests
// costs more than most files. Other workers of the same run take from the same list; who made a file's claim runs it.
// Arguments: a directory for the claims, then the files, from the root. Begin and end of each go to standard output as marks.
import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [claims, ...files] = process.argv.slice(2)
globalThis.UVU_DEFER = 1
globalThis.UVU_INDEX = 0
globalThis.UVU_QUEUE = [[null]]
const root = process.cwd()

let hasFailed = false
for (const file of files) {
  if (!claim(file)) continue
  const folder = file.slice(0, file.indexOf('/test/'))
  process.chdir(join(root, folder))
  const uvu = await import(pathToFileURL(uvuPath()).href)
  // What the properties of this package draw from.
  if (process.env.SVC_TEST_SEED !== undefined) await import(`./seed.mjs?${basename(folder)}`)
  mark('begin', { file })
  process.exitCode = undefined
  const begun = performance.now()
  const spent = process.cpuUsage()
  globalThis.UVU_QUEUE.splice(0, Number.POSITIVE_INFINITY, [null])
  let code = 1
  try {
    await import(pathToFileURL(join(root, file)).href)
    await uvu.exec()
    code = process.exitCode ?? 0
  } catch (error) {
    process.stdout.write(`${error?.stack ?? error}\n`)
  }
  hasFailed ||= code !== 0
  const { user, system } = process.cpuUsage(spent)
  process.stdout.write(`\n@@cost ${(user + system) / 1e6}\n`)
  mark('end', { file, code, ms: performance.now() - begun })
}
// What it found is in the marks. A process that does not end by itself from here on has left something open; a test that
// failed may have.
process.exitCode = 0
if (hasFailed) process.exit()

function claim(file) {
  try {
    closeSync(openSync(join(claims, encodeURIComponent(file)), 'wx'))
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function mark(kind, told) {
  process.stdout.write(`\n@@${kind} ${JSON.stringify(told)}\n`)
}

/** The package's own, or that of the testkit, which brings it: both keep their suites in the same queue. */
function uvuPath() {
  const own = createRequire(resolve('package.json'))
  const from = (name) => createRequire(own.resolve(name))
  try {
    return own.resolve('uvu')
  } catch {
    return from('@steeple/testkit').resolve('uvu')
  }
}
