// Which files of a package go into a build, and how they get there: sorted, with the same modes and times wherever they are made.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { compare } from './closure.mjs'

/** Of other people's packages: what no program reads while it runs. */
const NOT_RUN = /\.(map|ts|mts|cts|md|markdown|flow|tsbuildinfo|cc|cpp|hpp|h|gyp|gypi)$/i
const NOT_RUN_FOLDERS = new Set([
  '.github',
  'test',
  'tests',
  '__tests__',
  'example',
  'examples',
  'benchmark',
  'benchmarks',
  'docs',
  'node_modules',
])
/** What must stay with a copy of somebody's work. */
const TERMS = /^(licen[cs]e|copying|notice|authors)/i
/** Packages with programs for several machines in them: what this build takes of them. */
const CHOSEN = {
  'better-sqlite3': (path, arch) => path.startsWith('lib/') || path === `prebuilds/linux-${arch}.node`,
  // The others are for browsers, or the same made small.
  openpgp: (path) => path === 'dist/node/openpgp.mjs',
  pcap: (path) => /^(build\/Release\/pcap_binding\.node|decode\/.*\.js|[a-z_]+\.js)$/.test(path),
}

/**
 * The files of somebody else's package that a build has, as paths from its folder, sorted. Of one that is in a file of ours, and that
 * nothing loads from its own place, these are what it is called and its terms.
 */
export function filesOfOthers({ folder, manifest, isRun }, arch) {
  const chosen = CHOSEN[manifest.name]
  return listed(folder, '').filter((path) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (path === 'package.json' || TERMS.test(name)) return true
    if (!isRun) return false
    return chosen === undefined ? !NOT_RUN.test(path) : chosen(path, arch)
  })
}

/** All files below a folder but those that no build has. */
function listed(folder, below) {
  return readdirSync(join(folder, below), { withFileTypes: true })
    .sort((a, b) => compare(a.name, b.name))
    .flatMap((entry) => {
      const path = join(below, entry.name)
      if (entry.isDirectory()) return NOT_RUN_FOLDERS.has(entry.name) ? [] : listed(folder, path)
      return entry.isFile() ? [path] : []
    })
}

/** Every file below a folder, as paths from it, sorted. */
export function filesBelow(folder, below = '') {
  if (!existsSync(join(folder, below))) return []
  return readdirSync(join(folder, below), { withFileTypes: true })
    .sort((a, b) => compare(a.name, b.name))
    .flatMap((entry) => {
      const path = join(below, entry.name)
      return entry.isDirectory() ? filesBelow(folder, path) : [path]
    })
}

/**
 * A piece of a bundle that others load: its name has a hash, and an earlier one may lie there still; and a package in one file, which a
 * program without one of its parts may not need.
 */
const PIECE = /(^|\/)((chunk|[a-z0-9-]+)-[A-Z0-9]{8}\.js|[a-z0-9-]+\.mjs)$/
const RELATIVE = /(?:from|import|new URL)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/g

/**
 * The files of one of our packages below `dist`: programs with the pieces that they load, and what browsers get. As paths from `dist`,
 * sorted.
 */
export function filesOfOurs(dist) {
  const all = filesBelow(dist).filter((path) => !path.endsWith('.map') && !path.endsWith('.d.ts'))
  const first = all.filter((path) => !PIECE.test(path))
  const found = new Set(first)
  const waiting = [...first]
  while (waiting.length > 0) {
    const path = waiting.shift()
    if (!path.endsWith('.js')) continue
    for (const [, to] of readFileSync(join(dist, path), 'utf8').matchAll(RELATIVE)) {
      const target = join(dirname(path), to)
      if (found.has(target) || !all.includes(target)) continue
      found.add(target)
      waiting.push(target)
    }
  }
  return [...found].sort(compare)
}

/** Copies files; a program stays one. */
export function copyFiles(from, to, paths) {
  for (const path of paths) {
    mkdirSync(dirname(join(to, path)), { recursive: true })
    copyFileSync(join(from, path), join(to, path))
  }
}

/** Writes a file of a build, and the folders above it. */
export function put(folder, path, text, mode = 0o644) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
  chmodSync(join(folder, path), mode)
}

/**
 * Gives everything below a folder, and the folder, one time and one of two modes, whatever the umask was. `seconds` since the epoch; a
 * program is what its owner may run, when nothing else is said.
 */
export function settle(folder, seconds, isProgram = (path) => isRunnable(join(folder, path))) {
  const visit = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(path, entry.name)
      if (entry.isDirectory()) visit(inner)
      else if (!entry.isSymbolicLink()) chmodSync(inner, isProgram(relative(folder, inner)) ? 0o755 : 0o644)
      if (!entry.isDirectory()) lutimesSync(inner, seconds, seconds)
    }
    chmodSync(path, 0o755)
    lutimesSync(path, seconds, seconds)
  }
  visit(folder)
}

function isRunnable(path) {
  return (statSync(path).mode & 0o100) !== 0
}
