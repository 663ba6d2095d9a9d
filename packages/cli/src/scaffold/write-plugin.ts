import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failure, usageError } from '../command-error.ts'
import { packageRoot } from '../package-root.ts'
import type { ScaffoldKind } from './kinds.ts'
import { nextSteps } from './next-steps.ts'
import { packageFiles } from './package-files.ts'
import { publishedPackages, REGISTRY } from './published.ts'
import { findWorkspace } from './workspace.ts'

/** What to write and where. */
export interface WritePluginOptions {
  readonly name: string
  readonly kind: ScaffoldKind
  /** Folder of the package; by the workspace when absent. */
  readonly dir: string | undefined
  readonly cwd: string
  /** Folder with our packages as `.tgz`, or `registry`; those that the build carries when absent. */
  readonly packages?: string
}

/** What was written. */
export interface WrittenPlugin {
  readonly name: string
  readonly kind: ScaffoldKind
  readonly dir: string
  readonly files: readonly string[]
  /** The commands that build, test and load it. */
  readonly next: string
}

/** As the manifest has it: the id is the start of table and metric names. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const NAME_CHARACTERS = 40

/**
 * Writes a plugin package of that kind that builds to one file and loads. Its conformance suite passes, or fails with what is
 * left to write.
 *
 * Throws `usage` for a name that no plugin can have, `folder_not_empty` instead of writing over anything.
 */
export function writePlugin(options: WritePluginOptions): WrittenPlugin {
  const { name, kind } = options
  if (!NAME.test(name) || name.length > NAME_CHARACTERS)
    throw usageError(
      `${JSON.stringify(name)} is no plugin name; it is like my-driver, at most ${NAME_CHARACTERS} characters`,
    )
  const workspace = findWorkspace(options.cwd)
  const dir = resolve(
    options.cwd,
    options.dir ?? (workspace === undefined ? name : join(workspace, 'packages', name)),
  )
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw failure('folder_not_empty', `${dir} holds files already; name another folder with --dir`)
  const isInside = workspace !== undefined && dirname(dir) === join(workspace, 'packages')
  const { packages, copyInto } = publishedPackages(placeOf(options))
  const files = new Map([
    ...packageFiles({ name, kind, isInside, packages }),
    ...templateFiles(name, kind, isInside),
  ])
  for (const [path, content] of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), content, { flag: 'wx' })
  }
  const copied = isInside ? [] : copyInto(dir)
  const shown = relative(options.cwd, dir)
  const next = nextSteps({
    name,
    kind,
    dir: shown.startsWith('..') ? dir : `./${shown}`,
    workspace: isInside ? workspace : undefined,
  })
  const written = [...files.keys()].map((file) => join(dir, file))
  return { name, kind, dir, files: [...written, ...copied], next }
}

/** Where the packages are, as `publishedPackages` takes it. */
function placeOf({ packages, cwd }: WritePluginOptions): string | undefined {
  return packages === undefined || packages === REGISTRY ? packages : resolve(cwd, packages)
}

function templateFiles(
  name: string,
  kind: ScaffoldKind,
  isInside: boolean,
): readonly (readonly [string, string])[] {
  const templates = fileURLToPath(new URL('templates/', packageRoot()))
  // A project of its own is built by the kit.
  return [...(isInside ? ['common'] : []), kind].flatMap((part) => {
    const folder = join(templates, part)
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((file) => [relative(folder, file), renamed(readFileSync(file, 'utf8'), name)] as const)
  })
}

/** The templates are a plugin called sample-plugin. */
function renamed(text: string, name: string): string {
  const words = name.split('-')
  const pascal = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return text
    .replaceAll('sample-plugin', name)
    .replaceAll('sample_plugin', words.join('_'))
    .replaceAll('SAMPLE_PLUGIN', words.join('_').toUpperCase())
    .replaceAll('SamplePlugin', pascal)
    .replaceAll('samplePlugin', pascal.charAt(0).toLowerCase() + pascal.slice(1))
}
