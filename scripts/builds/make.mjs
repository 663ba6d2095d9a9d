// Makes a directory that runs the service with nothing but its own files, from a workspace that is built:
//   node scripts/builds/make.mjs --out DIR [--without a,b | --only a,b] [--arch x64|arm64] [--node included|named]
// Two runs on the same commit give the same files. docs/adr/0024-a-build-is-a-closed-folder.md says how it is laid out, and why.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { argv, execPath, stderr } from 'node:process'
import { folderOf, root } from '../workspace.mjs'
import { billOf, npmPurl } from './bom.mjs'
import { closureOf, compare } from './closure.mjs'
import { absentKeys, absentRules } from './config.mjs'
import { copyFiles, filesBelow, filesOfOthers, filesOfOurs, put, settle } from './files.mjs'
import { nodeFor } from './node.mjs'
import { takeNpm } from './npm.mjs'
import { isOneFile, packagesIn, requiredBy } from './one-file.mjs'
import { askedFrom, manifestOf, packages } from './parts.mjs'
import { stateOfSource } from './source.mjs'

/** Where packages lie in a build. */
const MODULES = 'lib/node_modules'
/** Compiled where it is installed, and so had for the machine that builds alone; its package works without, by nft. */
const COMPILED = 'pcap'
/** For scripts that the next build runs again. */
const SCRIPTS = { ...process.env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/build') }

process.umask(0o022)
try {
  main(argv.slice(2))
} catch (error) {
  stderr.write(`steeple: ${error.message}\n`)
  process.exit(2)
}

function main(args) {
  const { out, arch, hasNode, parts } = askedFrom(args)
  refuseTaken(out)
  const source = stateOfSource()
  rmSync(out, { recursive: true, force: true })
  const ours = copyOurs(out, parts)
  const others = copyOthers(out, ours, arch)
  const build = {
    version: manifestOf('cli').version,
    ...source,
    arch,
    node: hasNode ? nodeFor(arch).version : 'not included',
    ...parts,
    lacks: [...parts.lacks, ...missingFrom(others, ours)],
    absentKeys: absentKeys(parts.lacks),
    absentRules: absentRules(parts.lacks),
  }
  put(join(out, MODULES, '@steeple/cli'), 'build.json', `${JSON.stringify(build, undefined, 2)}\n`)
  put(out, 'bom.cdx.json', billOf(build, componentsOf(ours, others, hasNode ? build.node : undefined)))
  copyFiles(root, out, ['LICENSE'])
  put(out, 'share/doc/configuration.md', configurationOf(parts))
  makeSite(out, parts)
  // What `svc plugin new` gives a project.
  takeNpm(join(out, 'share/npm'))
  if (hasNode) copyNode(out, arch)
  putPrograms(out, parts)
  settle(out, source.epoch, (path) => path.startsWith('bin/') || path.endsWith('/main.js'))
}

/** A build takes the place of one, and of an empty folder: whatever else lies there is somebody's. */
function refuseTaken(out) {
  if (!existsSync(out) || existsSync(join(out, MODULES, '@steeple'))) return
  if (!statSync(out).isDirectory() || readdirSync(out).length > 0)
    throw new Error(`${out} is no build; give --out an empty folder, or remove it`)
}

/** Our packages, each with what its programs name of its dependencies: `{name, place, names, inside, outside}`, as `closureOf` has it. */
function copyOurs(out, { has, lacks }) {
  const taken = new Map()
  const waiting = ['cli', ...has]
  while (waiting.length > 0) {
    const name = waiting.shift()
    if (taken.has(name)) continue
    const place = join(out, MODULES, '@steeple', name)
    copyOne(name, place, lacks)
    const named = namedIn(place, manifestOf(name))
    const { names } = named
    taken.set(name, { name, place, ...named })
    waiting.push(...names.filter(isOurs).map(nameOfOurs))
  }
  for (const { name, place, names } of taken.values())
    put(place, 'package.json', manifestFor(manifestOf(name), names))
  return [...taken.values()].sort((a, b) => compare(a.name, b.name))
}

function copyOne(name, place, lacks) {
  const from = join(root, folderOf(name))
  const dist = join(from, 'dist')
  if (!existsSync(dist)) throw new Error(`${folderOf(name)} is not built`)
  // Without the console nobody loads a plugin's pages.
  const isWanted = (path) => !lacks.includes('console') || !path.startsWith('pages/')
  copyFiles(dist, join(place, 'dist'), filesOfOurs(dist).filter(isWanted))
  if (name === 'console' && lacks.length > 0) consoleWithout(lacks, join(place, 'dist/site'))
  for (const part of manifestOf(name).files ?? [])
    if (part !== 'dist') copyFiles(from, place, filesAt(from, part))
}

/** The pages of the console are made anew: what is for a part that the build lacks is not in them. */
function consoleWithout(lacks, site) {
  const folder = join(packages, 'console')
  const env = { ...process.env, STEEPLE_WITHOUT: lacks.join(','), STEEPLE_OUT: site }
  rmSync(site, { recursive: true })
  const vite = join(folder, 'node_modules/vite/bin/vite.js')
  for (const args of [
    [vite, 'build', '--logLevel', 'error'],
    [join(root, 'scripts/builds/compress.mjs'), site],
  ]) {
    const { status } = spawnSync(execPath, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error('the pages of the console could not be made')
  }
}

/** What the programs of a package name of what it may depend on, sorted, and what of it is in files of its own (one-file.mjs). */
function namedIn(place, { dependencies = {}, optionalDependencies = {} }) {
  const texts = filesBelow(place)
    .filter((path) => /\.m?js$/.test(path))
    .map((path) => readFileSync(join(place, path), 'utf8'))
  const [files, own] = [texts.filter(isOneFile), texts.filter((text) => !isOneFile(text))]
  const names = Object.keys({ ...dependencies, ...optionalDependencies })
    .filter((name) => texts.some((text) => namesIt(text, name)))
    .sort(compare)
  return {
    names,
    inside: names.filter(
      (name) =>
        files.some((text) => packagesIn(text).includes(name)) && !own.some((text) => loadsIt(text, name)),
    ),
    outside: files.flatMap(requiredBy),
  }
}

function namesIt(text, name) {
  return ['"', "'"].some((q) => text.includes(`${q}${name}${q}`) || text.includes(`${q}${name}/`))
}

/** Whether it is imported, required or looked for. */
function loadsIt(text, name) {
  return new RegExp(`\\b(from|import|require|resolve)\\s*\\(?\\s*["']${RegExp.escape(name)}["'/]`).test(text)
}

/** The manifest of a package as a build has it: nothing of how it is made. */
function manifestFor(manifest, names) {
  const { name, version, private: isPrivate, description, license, type, exports, bin, steeple } = manifest
  const declared = { ...manifest.dependencies, ...manifest.optionalDependencies }
  const versionOf = (one) => (isOurs(one) ? manifestOf(nameOfOurs(one)).version : declared[one])
  const dependencies = Object.fromEntries(names.map((one) => [one, versionOf(one)]))
  const kept = {
    name,
    version,
    private: isPrivate,
    description,
    license,
    type,
    exports,
    bin,
    steeple,
    dependencies,
  }
  return `${JSON.stringify(kept, undefined, 2)}\n`
}

function copyOthers(out, ours, arch) {
  const roots = ours.map(({ name, names, inside, outside }) => ({
    folder: join(root, folderOf(name)),
    at: `@steeple/${name}`,
    names: names.filter((one) => !isOurs(one)),
    inside,
    outside,
  }))
  const skip = new Set(arch === process.arch && isCompiled() ? [] : [COMPILED])
  const others = closureOf(roots, skip)
  for (const one of others) copyFiles(one.folder, join(out, MODULES, one.path), filesOfOthers(one, arch))
  return others
}

/** For the bill of materials: our packages, those of others, and Node. */
function componentsOf(ours, others, nodeVersion) {
  const purls = new Map(others.map(({ path, manifest }) => [path, npmPurl(manifest.name, manifest.version)]))
  const of = ({ name, version, license, licenses }, needs) => ({
    name,
    version,
    // As manifests had it once.
    license: license ?? licenses?.map(({ type }) => type).join(' OR '),
    purl: npmPurl(name, version),
    needs,
  })
  const components = [
    ...ours.map(({ name, names }) =>
      of(manifestOf(name), names.map((one) => purlOf(one, name, purls)).filter(Boolean)),
    ),
    ...others.map(({ manifest, needs }) =>
      of(
        manifest,
        needs.map((path) => purls.get(path)),
      ),
    ),
  ]
  if (nodeVersion !== undefined)
    components.push({
      name: 'node',
      version: nodeVersion,
      license: 'MIT',
      purl: `pkg:generic/node@${nodeVersion}`,
      needs: [],
    })
  return [...new Map(components.map((one) => [one.purl, one])).values()].sort((a, b) =>
    compare(a.purl, b.purl),
  )
}

function purlOf(one, by, purls) {
  if (isOurs(one)) return npmPurl(one, manifestOf(nameOfOurs(one)).version)
  return purls.get(`@steeple/${by}/node_modules/${one}`) ?? purls.get(one)
}

function isCompiled() {
  return existsSync(
    join(packages, 'collector-gtpu/node_modules', COMPILED, 'build/Release/pcap_binding.node'),
  )
}

/** What a package of this build could use and does not find in it. */
function missingFrom(others, ours) {
  const wanted = ours.some(({ names }) => names.includes(COMPILED))
  return wanted && !others.some(({ path }) => path === COMPILED) ? [COMPILED] : []
}

function copyNode(out, arch) {
  const { folder } = nodeFor(arch)
  copyFiles(join(folder, 'bin'), join(out, 'bin'), ['node'])
  put(out, 'LICENSE.node', readFileSync(join(folder, 'LICENSE')))
}

/** All keys that this build takes, as a document. */
function configurationOf({ lacks }) {
  const script = join(packages, 'settings/scripts/make-config-docs.mjs')
  const { status, stdout, stderr } = spawnSync(execPath, [script, '--print', '--without', lacks.join(',')], {
    encoding: 'utf8',
    env: { ...SCRIPTS, NODE_NO_WARNINGS: '1' },
  })
  if (status !== 0) throw new Error(`the configuration could not be described: ${stderr}`)
  return stdout
}

/** The documentation of what this build has, as pages that the service shows and that can be read as files. */
function makeSite(out, { lacks }) {
  const script = join(root, 'docs/site/src/make.ts')
  const args = [script, '--out', join(out, 'share/doc/html'), '--without', lacks.join(',')]
  const { status, stderr } = spawnSync(execPath, args, { encoding: 'utf8', env: SCRIPTS })
  if (status !== 0) throw new Error(`the documentation could not be made: ${stderr}`)
}

/** The commands: each finds the build from its own place, a symbolic link to it included. */
function putPrograms(out, { has }) {
  const first = readFileSync(join(out, MODULES, '@steeple/cli/dist/main.js'), 'utf8').split('\n', 1)[0]
  const flags = /^#!.* node (.*)$/.exec(first)?.[1]
  if (flags === undefined) throw new Error('the command does not begin with how node runs it')
  put(out, 'bin/svc', program(`${flags} "$root/${MODULES}/@steeple/cli/dist/main.js"`))
  copyFiles(join(root, 'packaging'), join(out, 'bin'), ['launch'])
  if (!has.includes('lab-core')) return
  put(out, 'bin/lab', program(`"$root/${MODULES}/@steeple/lab-core/dist/main.js"`))
  put(out, 'bin/open5gs-dbctl', program(`"$root/${MODULES}/@steeple/lab-core/dist/open5gs-dbctl.js"`))
}

function program(rest) {
  return `#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")
if [ -x "$root/bin/node" ]; then node=$root/bin/node; else node=node; fi
exec "$node" ${rest} "$@"
`
}

function filesAt(folder, part) {
  const path = join(folder, part)
  if (!existsSync(path)) return []
  return statSync(path).isDirectory() ? filesBelow(path).map((file) => join(part, file)) : [part]
}

function isOurs(name) {
  return name.startsWith('@steeple/')
}

function nameOfOurs(name) {
  return name.slice('@steeple/'.length)
}
