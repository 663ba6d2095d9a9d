// Which packages a build has: the essential plugins always, the others and the lab core as it is asked for.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { folderOf, root } from '../workspace.mjs'

export const packages = join(root, 'packages')
/** A program beside the service and no plugin of it. */
const LAB_CORE = 'lab-core'

/** The manifest of a package of the workspace. */
export function manifestOf(name) {
  return JSON.parse(readFileSync(join(root, folderOf(name), 'package.json'), 'utf8'))
}

/** What can be in a build or not: `{optional, essential}`, names of packages, sorted. */
function partsOfAll() {
  const plugins = readdirSync(packages)
    .sort()
    .filter((name) => existsSync(join(packages, name, 'package.json')))
    .map((name) => ({ name, steeple: manifestOf(name).steeple }))
    .filter(({ steeple }) => steeple !== undefined)
  const namesOf = (isEssential) =>
    plugins.filter(({ steeple }) => (steeple.essential === true) === isEssential).map(({ name }) => name)
  return { essential: namesOf(true), optional: [...namesOf(false), LAB_CORE].sort() }
}

/**
 * What a build has and lacks, from `--without a,b` or `--only a,b`, each of them once or often: `{has, lacks}`, sorted. Throws an
 * error with what to say.
 */
function partsFrom(args) {
  const { optional, essential } = partsOfAll()
  const without = listIn(args, '--without')
  const only = listIn(args, '--only')
  if (without !== undefined && only !== undefined)
    throw new Error('--without and --only are two ways to say one thing; give one of them')
  for (const name of [...(without ?? []), ...(only ?? [])]) {
    if (essential.includes(name) && without !== undefined) throw new Error(`${name} is part of every build`)
    if (!optional.includes(name) && !essential.includes(name))
      throw new Error(
        `there is no plugin ${name || '""'}; ${only === undefined ? '--without' : '--only'} takes ${optional.join(', ')}`,
      )
  }
  const isThere = (name) => (only === undefined ? !(without ?? []).includes(name) : only.includes(name))
  const has = [...essential, ...optional.filter(isThere)].sort()
  const lacks = optional.filter((name) => !isThere(name))
  refuseGaps(has)
  return { has, lacks }
}

/** A plugin whose needs nobody in the build provides would be refused at every start. */
function refuseGaps(has) {
  const manifests = has.filter((name) => name !== LAB_CORE).map((name) => manifestOf(name).steeple)
  const given = new Set(manifests.flatMap(({ provides = [] }) => provides))
  for (const { id, requires = [] } of manifests)
    for (const ref of requires)
      if (!given.has(ref) && !ref.startsWith('kernel.'))
        throw new Error(`${id} needs ${ref}, which ${providerOf(ref)} gives; leave out both or none`)
}

function providerOf(ref) {
  const { optional, essential } = partsOfAll()
  const gives = (name) => manifestOf(name).steeple?.provides?.includes(ref) === true
  return [...optional, ...essential].find(gives) ?? 'no package'
}

/** What a build can be asked to be. */
const FLAGS = ['--without', '--only', '--out', '--arch', '--node']

/**
 * What the arguments of a build ask for: `{out, arch, hasNode, parts}`, the folder, the machine, whether Node is in it, and
 * `{has, lacks}`. Throws an error with what to say, also of what is no flag: a slip would make another build than is meant.
 */
export function askedFrom(args) {
  refuseOthers(args, FLAGS)
  const arch = listIn(args, '--arch')?.[0] ?? process.arch
  if (!['x64', 'arm64'].includes(arch)) throw new Error(`--arch is x64 or arm64, and not ${arch}`)
  const node = listIn(args, '--node')?.[0] ?? 'included'
  if (!['included', 'named'].includes(node)) throw new Error(`--node is included or named, and not ${node}`)
  const out = resolve(listIn(args, '--out')?.[0] ?? join(root, 'dist'))
  return { out, arch, hasNode: node === 'included', parts: partsFrom(args) }
}

/** Throws an error about the first argument that is neither one of these flags nor its value. */
export function refuseOthers(args, flags) {
  for (let at = 0; at < args.length; at += 1) {
    const [flag] = args[at].split('=', 1)
    if (!flags.includes(flag)) throw new Error(`${args[at]} is none of ${flags.join(', ')}`)
    if (flag !== args[at]) continue
    at += 1
    if (args[at] === undefined) throw new Error(`${flag} needs a value`)
  }
}

/** The values of a flag; undefined when it is not given. */
export function listIn(args, flag) {
  const given = args.flatMap((arg, i) => {
    if (arg === flag) return [args[i + 1] ?? '']
    return arg.startsWith(`${flag}=`) ? [arg.slice(flag.length + 1)] : []
  })
  return given.length === 0
    ? undefined
    : [...new Set(given.flatMap((list) => list.split(',')))].filter(
        (name) => name !== '' || flag === '--without',
      )
}

/** The flags among arguments that say what a build has, and the others: `{flags, rest}`. */
export function takeParts(args) {
  const isFlag = (arg) => arg === '--without' || arg === '--only'
  const isTaken = (arg, i) => isFlag(arg) || isFlag(args[i - 1]) || /^--(without|only)=/.test(arg)
  return { flags: args.filter(isTaken), rest: args.filter((arg, i) => !isTaken(arg, i)) }
}

/** The build that `--build DIR` names among arguments, and the others: `{build, args}`; undefined without it. */
export function takeBuild(args) {
  const isTaken = (arg, i) => arg === '--build' || args[i - 1] === '--build' || arg.startsWith('--build=')
  return { build: listIn(args, '--build')?.[0], args: args.filter((arg, i) => !isTaken(arg, i)) }
}
