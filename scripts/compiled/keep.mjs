/**
 * Loaded into a program that is run for it: when the program ends, what node keeps of its compiled code also has the functions that were
 * called. Node itself writes that file when a module is compiled and before it has run, so it lacks them, and they are a fifth of a start.
 *
 * V8 gives what it has compiled of a source when the same source is compiled again, functions included. Node's files are taken as they
 * are: header, and behind it what V8 wrote. Whoever reads them, node, looks at the checksums, and V8 at its version and flags; a
 * file of another make is left alone here and dropped there. Node's internals are asked, so this runs in a checkout and nowhere else.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire, flushCompileCache, getCompileCacheDir } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8'
import { crc32 } from 'node:zlib'
import { compileAsUsual, compileLate } from '../../packages/cli/src/compile-late.ts'

/** Five numbers of 32 bits, lowest octet first: which kind of file it is, then these. */
const HEADER = { bytes: 20, codeBytes: 4, dataBytes: 8, codeSum: 12, dataSum: 16 }
/** What node gives the code of a CommonJS module. */
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']

const require = createRequire(import.meta.url)
// Node's own modules, which a program gets by --expose-internals.
const internals = require
const { internalBinding } = internals('internal/test/binding')
const { getOrInitializeCascadedLoader } = internals('internal/modules/esm/loader')
const { ModuleWrap } = internalBinding('module_wrap')
const { compileFunction } = internalBinding('contextify')
const symbols = internalBinding('symbols')

process.once('exit', keep)

function keep() {
  const folder = getCompileCacheDir()
  if (folder === undefined || !hasFlagsOf(folder)) return
  flushCompileCache()
  const files = filesIn(folder)
  for (const [path, compiled] of loaded()) {
    const source = readFileSync(path)
    const found = files.get(keyOf(crc32(source), source.length)) ?? []
    if (found.length > 0) replace(found, compiled(source.toString()))
  }
}

/**
 * Sets V8's flags to what they were when the program began to keep what it compiles, which V8 compares: the service has others once
 * it listens. Node names the folder by them: version of node, machine, V8's version with the flags, user.
 */
function hasFlagsOf(folder) {
  const tag = Number.parseInt(basename(folder).split('-').at(-2), 16)
  setFlagsFromString('--heap-growing-percent=0')
  return [compileAsUsual, compileLate].some((set) => {
    set()
    return cachedDataVersionTag() === tag
  })
}

/** The modules of this process that lie in files, each with how V8 is asked for what it has compiled of it. */
function loaded() {
  const common = Object.keys(require.cache).filter((path) => /\.c?js$/.test(path))
  const asked = new Set(common)
  const modules = [...getOrInitializeCascadedLoader().loadCache.keys()]
    .filter((url) => url.startsWith('file:') && !asked.has(fileURLToPath(url)))
    .map((url) => [fileURLToPath(url), (source) => moduleData(url, source)])
  return [...modules, ...common.map((path) => [path, (source) => functionData(path, source)])]
}

function moduleData(url, source) {
  return new ModuleWrap(
    url,
    undefined,
    source,
    0,
    0,
    symbols.source_text_module_default_hdo,
  ).createCachedData()
}

function functionData(path, source) {
  const scope = [undefined, undefined, PARAMETERS, symbols.vm_dynamic_import_default_internal]
  return compileFunction(source, path, 0, 0, undefined, true, ...scope).cachedData
}

/** What node keeps, by the sum and size of the source that it was compiled of. */
function filesIn(folder) {
  const files = new Map()
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const bytes = readFileSync(path)
    if (!isAsKnown(bytes)) continue
    const key = keyOf(bytes.readUInt32LE(HEADER.codeSum), bytes.readUInt32LE(HEADER.codeBytes))
    files.set(key, [...(files.get(key) ?? []), { path, bytes }])
  }
  return files
}

function keyOf(sum, bytes) {
  return `${sum} ${bytes}`
}

/** Whether a file is laid out as this knows it, by what its header says of what is behind it. */
function isAsKnown(bytes) {
  if (bytes.length < HEADER.bytes) return false
  const data = bytes.subarray(HEADER.bytes)
  return (
    bytes.readUInt32LE(HEADER.dataBytes) === data.length && bytes.readUInt32LE(HEADER.dataSum) === crc32(data)
  )
}

/** Less than is there was compiled from what is there, or has been forgotten since. */
function replace(files, data) {
  for (const { path, bytes } of files) {
    if (data.length <= bytes.length - HEADER.bytes) continue
    const next = Buffer.concat([bytes.subarray(0, HEADER.bytes), data])
    next.writeUInt32LE(data.length, HEADER.dataBytes)
    next.writeUInt32LE(crc32(data), HEADER.dataSum)
    writeFileSync(`${path}.next`, next, { mode: 0o600 })
    renameSync(`${path}.next`, path)
  }
}
